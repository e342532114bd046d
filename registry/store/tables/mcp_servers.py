"""Records of the MCP registry's API, made of services when these are recorded."""

from sqlalchemy import Index, Text
from sqlalchemy.orm import Mapped, mapped_column

from registry.store.tables.base import Base, DomainKey, HostKey, JsonB, Moment


class McpServerRow(Base):
    """A version of a server, with its name and version in byte order, as the API lists them.

    `status`: active, deprecated, or deleted (no longer served; without `server` and `notes`, kept as long as the change
    feed). A trigger on `services` sets `deleted`, so that no code path can forget it.
    """

    __tablename__ = "mcp_servers"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    name: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    version: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    status: Mapped[str]
    is_latest: Mapped[bool]
    server: Mapped[JsonB | None]  # server.json
    notes: Mapped[JsonB | None]  # server_records.ServerRecord.notes
    published_at: Mapped[Moment]
    updated_at: Mapped[Moment]  # last change of anything but `is_latest`
    status_changed_at: Mapped[Moment]

    __table_args__ = (
        Index("ix_mcp_servers_name", "name", "version"),
        Index("ix_mcp_servers_updated_at", "updated_at"),
    )


class McpLeftOutRow(Base):
    """A service that is an MCP server but has no record, and why (server_records.LEFT_OUT)."""

    __tablename__ = "mcp_left_out"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    reason: Mapped[str]
