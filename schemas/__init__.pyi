# Types of the public names, which __init__.py imports when they are first used (tests/schemas/core/test_lazy.py).
from schemas.answers import Answer as Answer
from schemas.answers import CaseScores as CaseScores
from schemas.answers import ItemScore as ItemScore
from schemas.cases import Case as Case
from schemas.cases import CaseNeighbour as CaseNeighbour
from schemas.core.config import Options as Options
from schemas.core.errors import DataError as DataError
from schemas.core.errors import ModelError as ModelError
from schemas.core.errors import UserError as UserError
from schemas.core.records import Record as Record
from schemas.core.registry import Registry as Registry
from schemas.facts import Entity as Entity
from schemas.facts import Fact as Fact
from schemas.facts import Neighbour as Neighbour
from schemas.facts import Object as Object
from schemas.facts import Relation as Relation
from schemas.facts import Source as Source
from schemas.generated_scripts import GeneratedScript as GeneratedScript
from schemas.lineage import Lineage as Lineage
from schemas.probes import GenerateProbe as GenerateProbe
from schemas.probes import ScoreProbe as ScoreProbe
from schemas.ratings import Rating as Rating
from schemas.scripts import Script as Script
from schemas.scripts import ScriptPrompt as ScriptPrompt
from schemas.scripts import ScriptQuestion as ScriptQuestion
from schemas.text.mentions import find as find_mentions
from schemas.verdicts import Span as Span
from schemas.verdicts import Verdict as Verdict

__all__ = [
    "Answer",
    "Case",
    "CaseNeighbour",
    "CaseScores",
    "DataError",
    "Entity",
    "Fact",
    "GenerateProbe",
    "GeneratedScript",
    "ItemScore",
    "Lineage",
    "ModelError",
    "Neighbour",
    "Object",
    "Options",
    "Rating",
    "Record",
    "Registry",
    "Relation",
    "ScoreProbe",
    "Script",
    "ScriptPrompt",
    "ScriptQuestion",
    "Source",
    "Span",
    "UserError",
    "Verdict",
    "find_mentions",
]
