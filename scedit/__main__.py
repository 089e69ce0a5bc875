"""``python -m scedit`` is the command ``scedit``."""

from scedit.commands import main

main()
