"""What is not given out, pushed or as sheets: nothing rated untrained, out of order or under another form."""

from __future__ import annotations

import pytest

from annotation_ui.campaigns.campaign import (
    CampaignOptions,
    assign_items,
    create_campaign,
    make_task,
    refuse_outside_app,
)
from annotation_ui.campaigns.control_items import RaterControlItem
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from schemas.core.errors import UserError

TASK = "rate_executability"


@pytest.fixture
def trained(db: RatingsDB, store: Store) -> RatingsDB:
    """A campaign of ann's and bob's with a training and an attention item."""
    for name in ("ann", "bob"):
        people.invite(db, name)
    items = [
        RaterControlItem(purpose=p, id=p, shown={"script": p}, expected={"executability": 7})
        for p in ("training", "attention")
    ]
    create_campaign(db, store, "c", make_task(TASK), CampaignOptions(overlap=2), known=items)
    assign_items(db, "c")
    return db


def test_untrained_people_are_sent_to_the_app_first(trained: RatingsDB) -> None:
    (item,) = [i for i, p in trained.items("c").items() if p.purpose == "training"]
    for person, missing in (("ann", "ann"), ("bob", "bob")):
        with pytest.raises(UserError, match=f"{missing} has 1 training items left.*in the rating app first"):
            refuse_outside_app(trained, trained.campaign("c"), {"ann", "bob"})
        trained.save("c", person, item, {"executability": 1}, form=f"{TASK}@1")
    refuse_outside_app(trained, trained.campaign("c"), {"ann", "bob"})


def test_who_has_not_agreed_to_the_text_is_sent_to_the_app_first(db: RatingsDB, store: Store) -> None:
    """Outside the app a text can be shown, and nobody can tell whether somebody agreed to it."""
    for name in ("ann", "bob"):
        people.invite(db, name)
    create_campaign(db, store, "c", make_task(TASK), CampaignOptions(overlap=2, consent="We keep your answers."))
    assign_items(db, "c")
    people.consent(db, "bob", "Another text.")
    for person in ("ann", "bob"):
        with pytest.raises(UserError, match=f"{person} has not agreed to the consent text.*in the rating app first"):
            refuse_outside_app(db, db.campaign("c"), {"ann", "bob"})
        people.consent(db, person, "We keep your answers.")
    refuse_outside_app(db, db.campaign("c"), {"ann", "bob"})


def test_nothing_shared_out_and_a_changed_form_are_refused(trained: RatingsDB, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="nothing of 'c' is assigned"):
        refuse_outside_app(trained, trained.campaign("c"), set())
    cls = type(make_task(TASK))
    monkeypatch.setattr(cls, "form", cls.form.model_copy(update={"intro": "other"}))
    with pytest.raises(UserError, match="its version was not raised"):
        refuse_outside_app(trained, trained.campaign("c"), {"ann"})
