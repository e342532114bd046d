"""The item pipeline: an item passes it once its visits are committed."""

from typing import Self

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem

from crawler.recorder import DATABASE_AWAY, RecordingError, VisitedDomain
from crawler.spider import WaypostSpider


class RecordPipeline:
    """Records visited domains, and opens and closes the spider's resources. So the signal `item_scraped` means
    recorded; `item_dropped` means that the visits were not stored, see the log."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def open_spider(self) -> None:
        """Open the spider. Raise NOT_READY and guards.BadSetup, which end the crawl before it starts."""
        if isinstance(self._crawler.spider, WaypostSpider):
            await self._crawler.spider.open()

    async def close_spider(self) -> None:
        """Release leased domains that were not visited."""
        if isinstance(self._crawler.spider, WaypostSpider):
            await self._crawler.spider.release_all()

    async def process_item(self, item: object) -> object:
        """Return the item after the commit. Raise DropItem if its visits were not stored."""
        spider = self._crawler.spider
        if isinstance(item, VisitedDomain) and isinstance(spider, WaypostSpider):
            try:
                await spider.recorder.add(item)
            except RecordingError as error:
                raise DropItem(str(error), "DEBUG" if str(error) == DATABASE_AWAY else None) from None
        return item
