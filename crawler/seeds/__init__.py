"""Sources of domain names: one module for each kind of source, and SEEDS, the tuple of all."""

from crawler.seeds import ard, lines, mcp_registry, sitemap, source, tables, waypost
from crawler.seeds.source import SeedSource

SEEDS: tuple[SeedSource, ...] = (
    lines.FILE,
    tables.CSV,
    tables.TRANCO,
    sitemap.SITEMAP,
    mcp_registry.MCP_REGISTRY,
    ard.ARD_REGISTRY,
    ard.ARD_CATALOG,
    waypost.WAYPOST,
    source.LINKS,
)
