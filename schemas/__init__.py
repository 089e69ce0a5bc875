"""What things are: records, identities, mentions, registries. Imports pydantic and the standard library only."""

from schemas.core.lazy import lazy_names

_PUBLIC = {
    "Answer": "schemas.answers:Answer",
    "Case": "schemas.cases:Case",
    "CaseNeighbour": "schemas.cases:CaseNeighbour",
    "CaseScores": "schemas.answers:CaseScores",
    "DataError": "schemas.core.errors:DataError",
    "Entity": "schemas.facts:Entity",
    "Fact": "schemas.facts:Fact",
    "GenerateProbe": "schemas.probes:GenerateProbe",
    "GeneratedScript": "schemas.generated_scripts:GeneratedScript",
    "ItemScore": "schemas.answers:ItemScore",
    "Lineage": "schemas.lineage:Lineage",
    "ModelError": "schemas.core.errors:ModelError",
    "Neighbour": "schemas.facts:Neighbour",
    "Object": "schemas.facts:Object",
    "Options": "schemas.core.config:Options",
    "Rating": "schemas.ratings:Rating",
    "Record": "schemas.core.records:Record",
    "Registry": "schemas.core.registry:Registry",
    "Relation": "schemas.facts:Relation",
    "ScoreProbe": "schemas.probes:ScoreProbe",
    "Script": "schemas.scripts:Script",
    "ScriptPrompt": "schemas.scripts:ScriptPrompt",
    "ScriptQuestion": "schemas.scripts:ScriptQuestion",
    "Source": "schemas.facts:Source",
    "Span": "schemas.verdicts:Span",
    "UserError": "schemas.core.errors:UserError",
    "Verdict": "schemas.verdicts:Verdict",
    "find_mentions": "schemas.text.mentions:find",
}
__all__ = list(_PUBLIC)
__getattr__, __dir__ = lazy_names(__name__, _PUBLIC)
