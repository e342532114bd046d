"""`/.well-known/http-message-signatures-directory`: the keys with which sites verify the crawler's requests.

Each answer is signed with every key that it lists, for the authority of this registry alone
(draft-meunier-webbotauth-httpsig-directory). The Host of the request is not used: otherwise any client could have these
keys signed for a host of their own.
"""

import time
from typing import Final

from fastapi import Request, Response

from registry.core.web_bot_auth import DIRECTORY_PATH, DIRECTORY_TYPE, authority_of, directory, sign_directory
from registry.edge.problems import NOT_FOUND, Problem
from registry.edge.responses import encoded_response
from registry.edge.routing import strict_router
from registry.settings import Settings
from registry.wiring.signing_keys import DIRECTORY_SECONDS, KeyRing, agent_of

PROOF_SECONDS: Final = 24 * DIRECTORY_SECONDS  # for which the signatures of an answer are valid
# Not compressed: the signatures cover the bytes as sent (RFC 9530 section 2).
_CACHE: Final = f"public, max-age={DIRECTORY_SECONDS}, no-transform"

router = strict_router(tags=["about"])


@router.get(DIRECTORY_PATH, response_class=Response, summary="The keys of the crawler", include_in_schema=False)
async def key_directory(request: Request) -> Response:
    settings: Settings = request.app.state.settings
    ring: KeyRing = request.app.state.signing_keys
    keys = ring.keys()
    if not keys:
        raise Problem(NOT_FOUND, "This registry does not sign its requests.")
    body, now = directory(keys), int(time.time())
    authority = authority_of(agent_of(settings) or settings.public_url)  # guard: directory-authority
    signed = sign_directory(keys, authority, body, created=now, expires=now + PROOF_SECONDS)
    return encoded_response(request, body, cache=_CACHE, headers=signed, media_type=DIRECTORY_TYPE)
