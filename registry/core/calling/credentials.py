"""The credentials of a call, completed by what the service says of the same schemes."""

from dataclasses import fields, replace

from registry.core.model.services import Auth, AuthScheme


def completed(auth: Auth, known: Auth) -> Auth:
    """Return `auth` with the addresses, notes and scopes that only the same scheme of `known` states.

    Schemes are the same where type, place and name are. Readers keep the schemes of operations short, because thousands
    of operations may name one scheme.
    """
    by_identity = {_identity(scheme): scheme for scheme in reversed(known.schemes)}
    return replace(auth, schemes=tuple(_filled(scheme, by_identity.get(_identity(scheme))) for scheme in auth.schemes))


def _identity(scheme: AuthScheme) -> tuple[str, str | None, str | None]:
    return scheme.type, scheme.location, scheme.name


def _filled(scheme: AuthScheme, known: AuthScheme | None) -> AuthScheme:
    if known is None:
        return scheme
    names = (field.name for field in fields(AuthScheme) if getattr(scheme, field.name) in (None, ()))
    return replace(scheme, **{name: getattr(known, name) for name in names})
