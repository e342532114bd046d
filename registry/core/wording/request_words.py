"""Words of grammar and asking in the languages that questions come in, as `text.REQUEST_WORDS` has them for English.

Articles, pronouns, verbs that carry others, prepositions, conjunctions, phrases of asking: nothing that names a thing
or an action of a service. Chinese and Japanese have phrases, which are cut out before the rest is split.
"""

import re
from typing import Final

_SPACED: Final = {
    "de": """
    der die das den dem des ein eine einen einem einer eines kein keine keinen mein meine meinen meiner meinem unser
    unsere unseren dein deine ihr ihre ihren sein seine ich du er sie es wir man mich mir dich dir uns euch ihnen sich
    und oder aber nicht auch nur noch schon sehr bitte danke mal doch wenn ob dass weil als wie was wer wo wann warum
    welche welcher welches wieviel in im ins an am ans auf aus bei beim mit nach von vom vor zu zum zur für fuer über
    ueber um durch ohne gegen unter zwischen bis per ist sind war bin sei wird werden wurde kann kannst können koennen
    könnt könnte könntest könnten koennte möchte möchten moechte moechten will wollen wollte muss müssen muessen soll
    sollte sollen darf dürfen habe hat haben hast hätte gibt gib zeig zeige zeigen sag hilf helfen brauche brauchen
    braucht wünsche gern gerne hallo hier dort jetzt mögen
    """,
    "fr": """
    le la les l un une des du de d au aux ce cet cette ces mon ma mes ton ta tes son sa ses notre nos votre vos leur
    leurs je j tu il elle on nous vous ils elles me m te t se s y en qui que qu quoi dont où ou et mais donc or ni car
    si ne n pas plus aussi très tres bien merci svp plaît plait comment combien quand pourquoi quel quelle quels quelles
    est sont suis es êtes etes était être etre ai as a avons avez ont avoir fait faire faut dans par pour sur sous avec
    sans chez vers entre jusqu à puis peux peut pouvez pourrais pourriez pouvoir veux veut voulez voudrais vouloir
    aimerais aimerait besoin souhaite souhaiterais dois doit devoir montre montrez donne donnez dis dites aide aidez
    bonjour salut ici là ça cela c
    """,
    "es": """
    el la los las lo un una unos unas al del de mi mis tu tus su sus nuestro nuestra nuestros este esta estos estas ese
    esa eso esto yo tú él ella usted ustedes nosotros ellos me te se le les nos que qué quien quién cual cuál cuándo
    cuando cómo como dónde donde cuánto cuanto cuánta cuesta y e o u pero si sí no también muy más ya por para con sin
    en a ante desde hasta hacia sobre entre es son soy está están estoy ser estar hay ha he han haber fue puedo puede
    puedes pueden podría podrías podrían poder quiero quiere quisiera quería gustaría necesito necesita necesitamos
    deseo desearía debo tengo tiene tener favor gracias hola muestra muéstrame dame dime ayuda ayúdame aquí ahora
    """,
    "pt": """
    o a os as um uma uns umas ao aos à às do da dos das no na nos nas num numa de em por pelo pela pelos pelas para pra
    com sem sobre entre até desde meu minha meus minhas seu sua seus suas nosso nossa este esta esse essa isto isso eu
    tu você vocês ele ela nós eles elas me te se lhe que quê quem qual quais quando como onde quanto quanta porque e ou
    mas não também muito mais já é são sou está estão estou ser estar há ter tenho tem foi posso pode podes podem
    poderia poderias poder quero quer queria gostaria preciso precisa precisamos desejo devo favor obrigado obrigada olá
    oi mostre mostra mostrar dê diga ajuda ajude aqui agora
    """,
    "it": """
    il lo la i gli le l un uno una al allo alla ai agli alle del dello della dei degli delle dal dallo dalla dai nel
    nello nella nei nelle sul sullo sulla sui sulle di a da in con su per tra fra mio mia miei mie tuo tua suo sua
    nostro nostra questo questa questi queste quello quella io tu lui lei noi voi loro mi ti si ci vi me te ne che chi
    quale quali quando come dove quanto quanta perché e ed o ma se non anche molto più già è sono sei siamo essere ho
    hai ha abbiamo hanno avere c'è posso può puoi possono potrei potresti potrebbe potere voglio vuole vorrei vorremmo
    volere devo deve dovrei serve bisogno desidero favore grazie ciao salve mostra mostrami dammi dimmi aiuto aiutami
    qui ora
    """,
    "nl": """
    de het een der den dit dat deze die mijn mijne jouw je uw zijn haar ons onze hun ik jij u hij zij ze wij we men mij
    me jou hem zich en of maar niet ook nog al heel erg graag alstublieft alsjeblieft bedankt als dat omdat hoe wat wie
    waar wanneer waarom welke hoeveel in op aan bij met naar van vanaf voor uit over om door zonder tegen onder tussen
    tot te ten ter is ben bent zijn was wordt worden kan kun kunt kunnen kon zou zouden zou wil wilt willen wou moet
    moeten mag mogen heb hebt heeft hebben had geef toon laat zeg help helpen nodig er hier daar nu hallo
    """,
    "pl": """
    i a o w z u na do od za po przy przez dla bez pod nad ze we ku oraz lub albo ale nie tak też także bardzo już
    jeszcze czy jak jaka jaki jakie co kto kiedy gdzie dlaczego ile który która które ten ta to te tego tej tych tym
    moje mój moja mojego mojej swój nasz nasza ja ty on ona my wy oni mnie mi cię ci mu jej nam wam się siebie jest są
    jestem być był było będzie mam ma masz mieć mogę może możesz możemy można chcę chce chciałbym chciałabym chcieć
    potrzebuję potrzebujemy potrzebny muszę musi trzeba proszę dziękuję cześć pokaż daj powiedz pomóż pomoc tu tutaj
    teraz
    """,
    "sv": """
    en ett den det de dem vi jag du ni han hon man mig dig oss er min mitt mina din ditt sin sitt vår vårt och eller men
    inte också mycket om att som vad vem var när hur varför vilken vilket vilka i på till från för med av utan över
    under mellan är var vara kan kunde ska skulle vill ville behöver måste får har hade gärna tack snälla hej visa ge
    hjälp här nu
    """,
    "da": """
    en et den det de dem vi jeg du i han hun man mig dig os jer min mit mine din dit sin sit vores og eller men ikke
    også meget om at som hvad hvem hvor hvornår hvordan hvorfor hvilken hvilket i på til fra for med af uden over under
    mellem er var være kan kunne skal skulle vil ville behøver må har havde gerne tak hej vis giv hjælp her nu
    """,
    "no": """
    en ei et den det de dem vi jeg du dere han hun man meg deg oss min mitt mine din ditt sin sitt vår vårt og eller men
    ikke også mye om at som hva hvem hvor når hvordan hvorfor hvilken hvilket i på til fra for med av uten over under
    mellom er var være kan kunne skal skulle vil ville trenger må har hadde gjerne takk hei vis gi hjelp her nå
    """,
    "ru": """
    и в во на с со к ко по о об от до из за для без при у над под через между не но или а если что чтобы как какой какая
    какие кто где когда почему сколько это этот эта эти тот мой моя мои наш я ты он она мы вы они мне меня тебе вас нам
    себя есть быть был было будет могу может можно хочу хочет хотел хотела нужно нужен нужна надо должен пожалуйста
    спасибо привет покажи покажите дай дайте скажи помоги помогите здесь сейчас
    """,
    "ar": """
    في من إلى الى على عن مع بين حول حتى منذ ب ل ك و أو او ثم لا لم لن ما ماذا من هل كيف أين اين متى لماذا كم أي اي هذا
    هذه ذلك تلك الذي التي أنا انا أنت انت هو هي نحن هم لي لك له لها لنا إن ان أن كان يكون هناك عند كل بعض قد أريد اريد
    نريد أرغب ارغب أود اود أحتاج احتاج يمكن يمكنني يمكنك هل من فضلك رجاء شكرا مرحبا أرني ارني أعطني اعطني ساعدني هنا
    الآن
    """,
}

REQUEST_WORDS_OF: Final = {language: frozenset(words.split()) for language, words in _SPACED.items()}
"""Language -> its words, in lower case."""

_PHRASES: Final = (
    "我想要|我想|我要|我需要|我们|我|你能|你可以|能不能|可不可以|可以|请问|请|帮我|帮忙|给我|告诉我|一下|一个|一張|一张|如何|怎么样|怎么|怎样|"
    "什么|多少|哪里|的|了|吗|呢|吧|把|将|在|是|和|与|或|从|到|用|我想請|請問|請|幫我|給我|怎麼|什麼|嗎|"
    "したいです|したい|してください|してほしい|して|ください|下さい|お願いします|お願い|教えて|欲しい|できますか|ですか|ますか|とは|"
    "について|までに|から|まで|する|です|ます|でき"
)

UNSPACED_REQUESTS: Final = re.compile(_PHRASES)
"""Phrases of questions in Chinese and Japanese."""
