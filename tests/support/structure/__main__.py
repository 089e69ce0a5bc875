"""Take what is mended off the list."""

from tests.support.structure import shrink

print("\n".join(shrink()) or "nothing to take off")
