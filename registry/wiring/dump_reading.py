"""Reading the files of a dump, for interfaces, which do not know the store."""

from registry.store.dump_files import LINE_BYTES as LINE_BYTES
from registry.store.dump_files import MANIFEST as MANIFEST
from registry.store.dump_files import MANIFEST_BYTES as MANIFEST_BYTES
from registry.store.dump_files import BadDump as BadDump
from registry.store.dump_files import Manifest as Manifest
from registry.store.dump_files import Part as Part
from registry.store.dump_files import lines as lines
from registry.store.dump_files import read_manifest as read_manifest
from registry.store.dump_files import verify as verify
