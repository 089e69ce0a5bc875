# Types of the public names, which __init__.py imports when they are first used (tests/schemas/core/test_lazy.py).
from curation.checks.store_checks import CheckContext as CheckContext
from curation.checks.store_checks import StoreCheck as StoreCheck
from curation.files.artifact_cache import Cache as Cache
from curation.files.journal import Journal as Journal
from curation.files.model_packages import cache_dir as cache_dir
from curation.loaders import load as load_facts
from curation.loaders.base import FormatReader as FormatReader
from curation.loaders.base import Loader as Loader
from curation.loaders.importer import import_file as import_file
from curation.loaders.reading import Problem as Problem
from curation.loaders.reading import Row as Row
from curation.rules.release import freeze as freeze
from curation.rules.rule import SplitRule as SplitRule
from curation.shipped import demonstrations_split as demonstrations_split
from curation.shipped import facts_path as facts_path
from curation.shipped import mini_split as mini_split
from curation.splits.split_file import Split as Split
from curation.splits.split_file import load_split as load_split
from curation.splits.split_file import make_split as make_split
from curation.splits.split_file import write_split as write_split
from curation.store.store import Store as Store

__all__ = [
    "Cache",
    "CheckContext",
    "FormatReader",
    "Journal",
    "Loader",
    "Problem",
    "Row",
    "Split",
    "SplitRule",
    "Store",
    "StoreCheck",
    "cache_dir",
    "demonstrations_split",
    "facts_path",
    "freeze",
    "import_file",
    "load_facts",
    "load_split",
    "make_split",
    "mini_split",
    "write_split",
]
