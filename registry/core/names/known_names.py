"""Names that impostors use, each with its owner's registrable domains: a table of facts without matching code.

Compiled by hand on 2026-11-24 from common knowledge, top levels by the Public Suffix List; not yet compared with the
owners' own pages. It is not a list of trademarks and never complete: a name is added when impostors would gain from
it. Domains on which users can publish (github.io, googleusercontent.com) are left out. A missing domain costs its
owner the level `verified`, nothing else.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from registry.core.names.confusables import without_marks


@dataclass(frozen=True)
class KnownName:
    """`name` as its owner writes it; `spellings`: as other scripts write it. `domains`: registrable domains of the
    owner, the best known first; `.google` is a top level that one owner controls. `is_word`: also an ordinary word, so
    only a use as the whole name counts. `has_pages`: users have pages below the owner's domains, so a link to a path
    there proves nothing. `is_installed`: organisations run it on hosts of their own, such as `gitlab.acme.example`.
    `handles_money`: payment, or a bank."""

    name: str
    domains: tuple[str, ...]
    is_word: bool = False
    has_pages: bool = False
    is_installed: bool = False
    handles_money: bool = False
    spellings: tuple[str, ...] = ()

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of the name, in lower case, without marks."""
        return tuple(re.findall("[a-z0-9]+", without_marks(self.name).casefold()))

    @cached_property
    def key(self) -> str:
        """The letters and digits of the name, in lower case, without marks."""
        return "".join(self.words)

    def owns(self, domain: str) -> bool:
        """Return whether the registrable domain is the owner's."""
        return domain in self.domains or f".{domain.rpartition('.')[2]}" in self.domains


_GOOGLE: Final = (
    "google.com google.co.uk google.de google.fr google.es google.it google.nl google.pl google.ca google.com.au "
    "google.co.in google.co.jp google.com.br googleapis.com googlemail.com gmail.com "
    "withgoogle.com google.dev youtube.com .google"
)
_MICROSOFT: Final = (
    "microsoft.com microsoftonline.com microsoft365.com office.com office365.com live.com outlook.com hotmail.com "
    "onedrive.com azure.com azure.net windows.com bing.com msn.com visualstudio.com "
    "skype.com xbox.com github.com linkedin.com .microsoft .azure"
)
_APPLE: Final = "apple.com icloud.com me.com mac.com itunes.com .apple"
_AMAZON: Final = (
    "amazon.com amazon.co.uk amazon.de amazon.fr amazon.es amazon.it amazon.nl amazon.ca amazon.com.au amazon.in "
    "amazon.co.jp amazon.com.br amazon.com.mx amazon.dev aws.dev amazonpay.com primevideo.com .amazon .aws"
)
_META: Final = "meta.com facebook.com facebook.net fb.com meta.ai messenger.com instagram.com whatsapp.com threads.net"
_ATLASSIAN: Final = "atlassian.com jira.com trello.com bitbucket.org"
_INTUIT: Final = "intuit.com quickbooks.com turbotax.com mailchimp.com creditkarma.com"

_OF_MONEY: Final = (
    # payment and money
    ("PayPal", "paypal.com paypal.me paypalobjects.com paypal-corp.com"),
    ("Venmo", "venmo.com paypal.com"),
    ("Braintree", "braintreepayments.com braintreegateway.com paypal.com"),
    ("Adyen", "adyen.com"),
    ("Klarna", "klarna.com"),
    ("TransferWise", "wise.com transferwise.com"),
    ("Revolut", "revolut.com"),
    ("Mastercard", "mastercard.com mastercard.us"),
    ("American Express", "americanexpress.com aexp.com"),
    ("Western Union", "westernunion.com"),
    ("MoneyGram", "moneygram.com"),
    ("Zelle", "zellepay.com zelle.com"),
    ("Payoneer", "payoneer.com"),
    ("Alipay", "alipay.com alipay.cn alipayplus.com"),
    ("WeChat", "wechat.com qq.com tencent.com"),
    ("Razorpay", "razorpay.com"),
    ("Paytm", "paytm.com"),
    ("Mercado Pago", "mercadopago.com mercadopago.com.br mercadopago.com.ar mercadopago.com.mx"),
    ("GoCardless", "gocardless.com"),
    ("Coinbase", "coinbase.com"),
    ("Binance", "binance.com binance.us binance.org"),
    ("MetaMask", "metamask.io consensys.io"),
    ("Trezor", "trezor.io"),
    ("OpenSea", "opensea.io"),
    ("Uniswap", "uniswap.org"),
    ("Etherscan", "etherscan.io"),
    ("QuickBooks", _INTUIT),
    ("TurboTax", _INTUIT),
    ("Intuit", _INTUIT),
    # banks
    ("JPMorgan", "jpmorgan.com jpmorganchase.com chase.com"),
    ("Bank of America", "bankofamerica.com bofa.com"),
    ("Wells Fargo", "wellsfargo.com"),
    ("Citibank", "citibank.com citi.com"),
    ("Capital One", "capitalone.com"),
    ("HSBC", "hsbc.com hsbc.co.uk hsbc.com.hk .hsbc"),
    ("Barclays", "barclays.co.uk barclays.com .barclays"),
    ("NatWest", "natwest.com natwestgroup.com"),
    ("Santander", "santander.com santander.co.uk bancosantander.es santander.com.br santander.com.mx"),
    ("BBVA", "bbva.com bbva.es bbva.mx .bbva"),
    ("Deutsche Bank", "db.com deutsche-bank.de deutschebank.com"),
    ("Commerzbank", "commerzbank.de commerzbank.com"),
    ("Sparkasse", "sparkasse.de"),
    ("BNP Paribas", "bnpparibas.com bnpparibas.fr .bnpparibas"),
    ("Société Générale", "societegenerale.com societegenerale.fr"),
    ("Goldman Sachs", "goldmansachs.com gs.com"),
    ("Morgan Stanley", "morganstanley.com"),
    ("Charles Schwab", "schwab.com"),
    ("N26", "n26.com"),
    ("Monzo", "monzo.com"),
    ("Nubank", "nubank.com.br nu.com.mx"),
)
_OTHERS: Final = (
    # mail, cloud, identity, office
    ("Google", _GOOGLE, "pages"),
    ("Gmail", _GOOGLE, "pages"),
    ("Microsoft", _MICROSOFT, "pages"),
    ("Office 365", _MICROSOFT),
    ("OneDrive", _MICROSOFT),
    ("SharePoint", _MICROSOFT),
    ("iCloud", _APPLE, "pages"),
    ("Amazon", _AMAZON, "pages"),
    ("AWS", _AMAZON, "pages"),
    ("Yahoo", "yahoo.com yahoo.co.jp yahooinc.com"),
    ("ProtonMail", "proton.me protonmail.com"),
    ("Fastmail", "fastmail.com"),
    ("Dropbox", "dropbox.com getdropbox.com dropboxapi.com"),
    ("DocuSign", "docusign.com docusign.net"),
    ("Adobe", "adobe.com adobe.io acrobat.com"),
    ("Salesforce", "salesforce.com"),
    ("HubSpot", "hubspot.com hubapi.com"),
    ("Zendesk", "zendesk.com"),
    ("Atlassian", _ATLASSIAN),
    ("Jira", _ATLASSIAN, "installed"),
    ("Trello", _ATLASSIAN),
    ("Airtable", "airtable.com"),
    ("Shopify", "shopify.com shopify.dev"),
    ("Twilio", "twilio.com sendgrid.com"),
    ("SendGrid", "sendgrid.com sendgrid.net twilio.com"),
    ("Mailchimp", _INTUIT),
    ("Okta", "okta.com"),
    ("Auth0", "auth0.com okta.com"),
    ("1Password", "1password.com 1password.ca 1password.eu agilebits.com"),
    ("LastPass", "lastpass.com"),
    ("Bitwarden", "bitwarden.com bitwarden.eu"),
    ("Dashlane", "dashlane.com"),
    ("GoDaddy", "godaddy.com secureserver.net .godaddy"),
    ("Namecheap", "namecheap.com"),
    ("Cloudflare", "cloudflare.com cloudflare.dev cloudflare.net"),
    ("DigitalOcean", "digitalocean.com"),
    ("Heroku", "heroku.com salesforce.com"),
    ("Vercel", "vercel.com"),
    ("Netlify", "netlify.com"),
    ("IBM", "ibm.com .ibm"),
    ("Cisco", "cisco.com webex.com"),
    ("Nvidia", "nvidia.com"),
    ("Samsung", "samsung.com .samsung"),
    ("Figma", "figma.com"),
    ("Canva", "canva.com canva.dev"),
    ("Skype", _MICROSOFT),
    # code
    ("GitHub", "github.com github.blog github.dev", "pages", "installed"),
    ("GitLab", "gitlab.com", "pages", "installed"),
    ("Bitbucket", _ATLASSIAN, "pages", "installed"),
    ("npm", "npmjs.com npmjs.org github.com", "pages", "installed"),
    ("PyPI", "pypi.org python.org", "pages", "installed"),
    ("Docker Hub", "docker.com docker.io", "pages"),
    ("Hugging Face", "huggingface.co hf.co", "pages"),
    ("Stack Overflow", "stackoverflow.com stackexchange.com", "pages"),
    # AI
    ("OpenAI", "openai.com chatgpt.com sora.com"),
    ("ChatGPT", "openai.com chatgpt.com"),
    ("Anthropic", "anthropic.com claude.com claude.ai"),
    ("DeepSeek", "deepseek.com"),
    ("Midjourney", "midjourney.com"),
    ("ElevenLabs", "elevenlabs.io"),
    # social
    ("Facebook", _META, "pages"),
    ("Instagram", _META, "pages"),
    ("WhatsApp", f"{_META} whatsapp.net wa.me", "pages"),
    ("LinkedIn", "linkedin.com lnkd.in licdn.com", "pages"),
    ("Twitter", "twitter.com x.com t.co", "pages"),
    ("YouTube", f"{_GOOGLE} youtu.be", "pages"),
    ("TikTok", "tiktok.com bytedance.com", "pages"),
    ("Snapchat", "snapchat.com snap.com", "pages"),
    ("Reddit", "reddit.com redd.it redditinc.com", "pages"),
    ("Discord", "discord.com discord.gg discordapp.com", "pages"),
    ("Telegram", "telegram.org telegram.me t.me", "pages"),
    ("Twitch", "twitch.tv", "pages"),
    ("Pinterest", "pinterest.com", "pages"),
    # shops, travel, delivery, media
    ("eBay", "ebay.com ebay.co.uk ebay.de ebay.fr ebay.it ebay.es ebay.ca ebay.com.au ebayinc.com"),
    ("Walmart", "walmart.com walmart.ca .walmart"),
    ("Costco", "costco.com costco.ca costco.co.uk"),
    ("IKEA", "ikea.com"),
    ("AliExpress", "aliexpress.com aliexpress.us alibaba.com"),
    ("Alibaba", "alibaba.com alibabacloud.com alibabagroup.com aliyun.com 1688.com"),
    ("Taobao", "taobao.com tmall.com alibaba.com"),
    ("Etsy", "etsy.com"),
    ("Zalando", "zalando.com zalando.de zalando.co.uk"),
    ("Rakuten", "rakuten.com rakuten.co.jp rakuten.net"),
    ("Flipkart", "flipkart.com"),
    ("Mercado Libre", "mercadolibre.com mercadolibre.com.ar mercadolibre.com.mx mercadolivre.com.br"),
    ("Booking.com", "booking.com"),
    ("Airbnb", "airbnb.com airbnb.co.uk airbnb.de airbnb.fr airbnb.es airbnb.it"),
    ("Expedia", "expedia.com expedia.co.uk expediagroup.com"),
    ("Tripadvisor", "tripadvisor.com tripadvisor.co.uk"),
    ("DoorDash", "doordash.com"),
    ("DHL", "dhl.com dhl.de .dhl"),
    ("FedEx", "fedex.com"),
    ("USPS", "usps.com"),
    ("Royal Mail", "royalmail.com"),
    ("Netflix", "netflix.com .netflix"),
    ("Spotify", "spotify.com"),
    ("Disney", "disney.com disneyplus.com go.com"),
    ("Nintendo", "nintendo.com nintendo.co.jp"),
    ("PlayStation", "playstation.com sony.com .playstation"),
    ("Xbox", _MICROSOFT),
    ("Roblox", "roblox.com"),
    ("Epic Games", "epicgames.com"),
    # ordinary words
    ("Apple", _APPLE, "word", "pages"),
    ("Meta", _META, "word"),
    ("Outlook", _MICROSOFT, "word"),
    ("Azure", _MICROSOFT, "word"),
    ("Copilot", _MICROSOFT, "word"),
    ("Gemini", _GOOGLE, "word"),
    ("Stripe", "stripe.com stripe.dev stripe.network", "word"),
    ("Square", "squareup.com square.com block.xyz", "word"),
    ("Cash App", "cash.app squareup.com", "word"),
    ("Wise", "wise.com transferwise.com", "word"),
    ("Visa", "visa.com .visa", "word"),
    ("Plaid", "plaid.com", "word"),
    ("Kraken", "kraken.com", "word"),
    ("Ledger", "ledger.com", "word"),
    ("Phantom", "phantom.com phantom.app", "word"),
    ("Robinhood", "robinhood.com", "word"),
    ("Chase", "chase.com jpmorganchase.com .chase", "word"),
    ("Citi", "citi.com citibank.com .citi", "word"),
    ("Fidelity", "fidelity.com fidelity.co.uk .fidelity", "word"),
    ("Vanguard", "vanguard.com vanguard.co.uk", "word"),
    ("ING", "ing.com ing.de ing.nl ing.es .ing", "word"),
    ("Zoom", "zoom.us zoom.com", "word"),
    ("Slack", "slack.com", "word", "pages"),
    ("Signal", "signal.org", "word"),
    ("Line", "line.me linecorp.com lycorp.co.jp", "word"),
    ("Messenger", _META, "word"),
    ("Box", "box.com", "word"),
    ("Notion", "notion.so notion.com", "word"),
    ("Oracle", "oracle.com oraclecloud.com .oracle", "word"),
    ("SAP", "sap.com .sap", "word"),
    ("Claude", "claude.com claude.ai anthropic.com", "word"),
    ("Perplexity", "perplexity.ai", "word"),
    ("Mistral", "mistral.ai", "word"),
    ("Grok", "x.ai grok.com x.com", "word"),
    ("Target", "target.com .target", "word"),
    ("Best Buy", "bestbuy.com bestbuy.ca", "word"),
    ("Uber", "uber.com", "word"),
    ("UPS", "ups.com .ups", "word"),
    ("Steam", "steampowered.com steamcommunity.com valvesoftware.com", "word"),
)

_SPELLINGS: Final = {
    "PayPal": "贝宝 ペイパル 페이팔 пейпал пэйпал بايبال",
    "Mastercard": "万事达卡 マスターカード 마스터카드 мастеркард ماستركارد",
    "Alipay": "支付宝 アリペイ 알리페이 алипей",
    "WeChat": "微信 ウィーチャット 위챗 вичат",
    "Coinbase": "コインベース 코인베이스 коинбейс коинбэйс",
    "Binance": "币安 バイナンス 바이낸스 бинанс باينانس",
    "Google": "谷歌 グーグル 구글 гугл جوجل",
    "Gmail": "джимейл ジーメール 지메일",
    "Microsoft": "微软 マイクロソフト 마이크로소프트 майкрософт مايكروسوفت",
    "iCloud": "айклауд アイクラウド 아이클라우드",
    "GitHub": "гитхаб ギットハブ 깃허브",
    "Facebook": "脸书 フェイスブック 페이스북 фейсбук فيسبوك",
    "Instagram": "インスタグラム 인스타그램 инстаграм انستغرام",
    "WhatsApp": "ワッツアップ 왓츠앱 ватсап вотсап واتساب",
    "YouTube": "ユーチューブ 유튜브 ютуб ютьюб يوتيوب",
    "TikTok": "抖音 ティックトック 틱톡 тикток تيكتوك",
    "Telegram": "テレグラム 텔레그램 телеграм تيليجرام",
    "Netflix": "奈飞 ネットフリックス 넷플릭스 нетфликс نتفليكس",
    "Taobao": "淘宝 タオバオ 타오바오 таобао",
    "Alibaba": "阿里巴巴 アリババ 알리바바 алибаба",
    "AliExpress": "速卖通 アリエクスプレス 알리익스프레스 алиэкспресс",
    "Rakuten": "楽天市場 라쿠텐",
    "Samsung": "サムスン 삼성전자 самсунг سامسونج",
    "Spotify": "スポティファイ 스포티파이 спотифай سبوتيفاي",
}
"""Names as other scripts write them, except where that is an ordinary word."""

KNOWN_NAMES: Final = tuple(
    KnownName(
        name, tuple(domains.split()), is_word="word" in traits, has_pages="pages" in traits,
        is_installed="installed" in traits, handles_money=group is _OF_MONEY,
        spellings=tuple(_SPELLINGS.get(name, "").split()),
    )
    for group in (_OF_MONEY, _OTHERS)
    for name, domains, *traits in group
)  # fmt: skip
