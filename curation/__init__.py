"""What we keep: the store, journals, loaders, splits, statistics, and the data that we ship."""

from schemas.core.lazy import lazy_names

_PUBLIC = {
    "Cache": "curation.files.artifact_cache:Cache",
    "CheckContext": "curation.checks.store_checks:CheckContext",
    "Journal": "curation.files.journal:Journal",
    "Loader": "curation.loaders.base:Loader",
    "Problem": "curation.loaders.reading:Problem",
    "Row": "curation.loaders.reading:Row",
    "FormatReader": "curation.loaders.base:FormatReader",
    "Split": "curation.splits.split_file:Split",
    "SplitRule": "curation.rules.rule:SplitRule",
    "Store": "curation.store.store:Store",
    "StoreCheck": "curation.checks.store_checks:StoreCheck",
    "cache_dir": "curation.files.model_packages:cache_dir",
    "demonstrations_split": "curation.shipped:demonstrations_split",
    "facts_path": "curation.shipped:facts_path",
    "freeze": "curation.rules.release:freeze",
    "import_file": "curation.loaders.importer:import_file",
    "load_facts": "curation.loaders:load",
    "load_split": "curation.splits.split_file:load_split",
    "make_split": "curation.splits.split_file:make_split",
    "mini_split": "curation.shipped:mini_split",
    "write_split": "curation.splits.split_file:write_split",
}
__all__ = list(_PUBLIC)
__getattr__, __dir__ = lazy_names(__name__, _PUBLIC)
