"""What is not pushed to Label Studio: work out of order, under another form, or by people who are not ready."""

from __future__ import annotations

from annotation_ui.campaigns.campaign import campaign_task
from annotation_ui.campaigns.groups import waiting_for
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.raters import consents
from annotation_ui.ratings.records import Campaign
from schemas.core.errors import UserError


def refuse_push(db: RatingsDB, campaign: Campaign, raters: set[str]) -> None:
    """Refuse to push what cannot be rated there as it should be.

    Label Studio cannot tell a trainee the right answer, so training items stay in the rating app and come first. Nor
    can it record that somebody agreed to the consent text, so that is done there, too.

    Args:
        db: The ratings file.
        campaign: What is to be pushed.
        raters: For whom.

    Raises:
        UserError: nothing is shared out, the form was changed, somebody has to finish another campaign first, has not
            agreed to the consent text, or has training items left.
    """
    name = campaign.name
    if not raters:
        raise UserError(f"nothing of '{name}' is shared out", fix=f"run: scedit annotate share {name}")
    campaign_task(db, name)
    items = db.items(name)
    for person in sorted(raters):
        if first := waiting_for(db, campaign, person):
            raise UserError(f"'{first}' comes first, and {person} has not finished it", where=name, fix="pull it first")
        consent = str(campaign.settings.get("consent", ""))
        if consent and consent not in consents(db, person):
            raise UserError(
                f"{person} has not agreed to the consent text, and Label Studio cannot record it",
                where=name,
                fix="have them agree in the rating app first: scedit annotate serve",
            )
        done = {r.item for r in db.current_answers(name, person=person)}
        mine = [a.item for a in db.assignments(name, person) if items[a.item].purpose == "training"]
        if left := sum(i not in done for i in mine):
            raise UserError(
                f"{person} has {left} training items left, and Label Studio cannot show the right answers",
                where=name,
                fix="have them answered in the rating app first: scedit annotate serve",
            )
