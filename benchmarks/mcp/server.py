"""The server of the benchmark: all interfaces over generated services, without limits and without a worker.

fill DATABASE FOLDER COUNT    store COUNT generated services and build the index
serve DATABASE FOLDER         serve; prints the port on the first line
"""

import socket
import sys

import uvicorn
import uvloop

from benchmarks.search import tree
from registry.api.app import settled
from registry.cli.interfaces import interfaces_of
from registry.edge.interfaces import compose, running
from registry.wiring import Waypost, open_waypost


async def serve(waypost: Waypost) -> None:
    await waypost.open_search()
    interfaces = interfaces_of(waypost, waypost.settings)
    listening = socket.create_server(("127.0.0.1", 0), backlog=512)
    config = uvicorn.Config(
        compose(interfaces, waypost.settings),
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        lifespan="off",
    )
    print(listening.getsockname()[1], flush=True)
    with settled():
        async with running(interfaces):
            await uvicorn.Server(config).serve(sockets=[listening])


async def main() -> None:
    act, database, folder, *arguments = sys.argv[1:]
    async with open_waypost(tree.settings(database, folder)) as waypost:
        await (tree.fill(waypost, int(arguments[0])) if act == "fill" else serve(waypost))


if __name__ == "__main__":
    uvloop.run(main())
