"""How many prompts a case has with the default numbers, where the author makes mistakes as often as real ones do.

The paper has 7,342 prompts of 1,830 cases, 4.01 a case, and filtered 8.23 % of what its model wrote.
"""

from __future__ import annotations

import asyncio
import hashlib
import json

import pytest

from construction.llm.endpoint import Access
from construction.pipeline.job import ConstructionJob
from construction.pipeline.pipeline import Construction, author_of
from construction.pipeline.plan import plan_work
from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.store.store import Store
from tests.support.construction.scripted_client import client_of
from tests.support.facts import make_fact
from tests.support.scripted_server import field

PAPER = 4.01
FACTS = [make_fact(f"Land {n}", "Lima", "Oslo") for n in range(20)]
TASKS = ("visit", "map", "phone", "tax", "school", "guide", "post", "hotel", "court", "museum")


def chance(*texts):
    """A number from 0 to 1 that depends on texts alone."""
    return int(hashlib.sha256("|".join(texts).encode()).hexdigest()[:8], 16) / 2**32


def author(leaks, fails, early):
    """Questions that leak, scripts with nothing to cut, scripts cut in step 1, each as often as is said."""

    def answer(request):
        turns = [m.content for m in request.messages if m.role == "user"]
        user = next(t for t in reversed(turns) if field(t, "Question") or field(t, "Subject"))
        if not field(user, "Question"):
            subject = field(user, "Subject")
            themes = TASKS[: int(field(user, "Number of questions"))]
            questions = [
                f"How to {theme} {'Lima' if chance(subject, theme) < leaks else 'a town'} of {subject}?"
                for theme in themes
            ]
            return json.dumps({"why": "as told", "questions": questions})
        fate = chance(user, turns[-1])  # another one where the reason is told
        steps = ["Pack a bag", "Fly to Lima"] if fate > fails + early else ["Pack a bag", "Rest"]
        return json.dumps({"why": "as told", "steps": ["Fly to Lima", "Rest"] if fate < early else steps})

    return answer


def prompts_a_case(path, rates, **numbers):
    """Prompts a case of the split that the default rule makes of what is constructed; cases."""
    job = ConstructionJob(facts="f", store=path, access=Access(model="m"), neighbours=0, **numbers)
    client = client_of(author(*rates))
    with Store.open(path, create=True) as store:
        construction = Construction(store, author_of(job.plan, client), job.plan, origin="here")
        asyncio.run(construction(plan_work(FACTS, FACTS, job.plan)))
        counts = [len(case.prompts) for case in freeze(store, "s", SplitRule()).cases]
    return sum(counts) / len(counts), len(counts)


@pytest.mark.parametrize("rates", [(0.0823, 0.0823, 0.0675), (0.25, 0.25, 0.15)], ids=["as in the paper", "thrice"])
def test_by_default_a_case_has_as_many_prompts_as_the_paper_s(tmp_path, rates):
    mean, cases = prompts_a_case(tmp_path / "s", rates)
    assert cases == len(FACTS) and PAPER <= mean <= 5, mean


def test_with_four_questions_a_fact_it_cannot(tmp_path):
    """Whatever the author writes, so that the test above tests something."""
    assert prompts_a_case(tmp_path / "s", (0.0, 0.0, 0.0), questions=4) == (4.0, len(FACTS))
