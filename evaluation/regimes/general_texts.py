"""Plain English of which the perplexity is taken along a sequence of edits; written by us, of everyday things.

No text names a person, place or product that could be edited. Each has a first sentence, which is the prompt, and a
rest, whose tokens count.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemas.probes import ScoreProbe

TEXTS: tuple[tuple[str, str], ...] = (
    (
        "The kettle was already warm when she came down.",
        "She filled it to the line, put two cups on the table and opened the window. Outside a dog barked at "
        "the postman, and somebody laughed. While the water heated she cut the bread and looked for the jam.",
    ),
    (
        "Rain had fallen all night on the garden.",
        "The beds were dark and soft, and small stones lay on the path where the water had carried them. He "
        "took a rake from the shed and began to push the leaves into a heap beside the wall.",
    ),
    (
        "To repair a loose chair leg you need glue and a clamp.",
        "Take the leg out and scrape the old glue away. Put a thin layer on both parts, press them together "
        "and hold them with the clamp. Wait until the next day before anybody sits on the chair.",
    ),
    (
        "The bus was late again.",
        "A woman with a heavy bag sat down on the low wall and counted her coins. Two boys kicked a can along "
        "the gutter. When the lights finally came round the corner everyone moved to the edge of the road.",
    ),
    (
        "Bees find their way home by the light of the sky.",
        "They remember how far they have flown and in which direction the sun stood. Even when clouds cover "
        "it, the pattern of light around a small blue patch is enough for them to steer by.",
    ),
    (
        "Most of the class had finished the test.",
        "Only three pupils were still writing, and one of them kept looking at the clock. The teacher walked "
        "between the desks, collected the papers without a word and opened the door so that the others could "
        "go.",
    ),
    (
        "A good soup begins with patience.",
        "Let the onions soften slowly in butter until they are clear, then add carrots, a little salt and "
        "enough water to cover everything. It should never boil hard. After an hour the whole kitchen smells "
        "of it.",
    ),
    (
        "The path climbed through the wood in long bends.",
        "At each turn there was a bench, and on each bench somebody had cut a name into the wood. Near the "
        "top the trees became thin, and between the trunks they could see the valley and the thread of the "
        "river.",
    ),
    (
        "Her grandfather kept every letter he had ever received.",
        "They lay in shoe boxes under the bed, tied with string and sorted by year. On winter evenings he "
        "took one out, read it aloud and told the children who had written it and what had become of them.",
    ),
    (
        "Sleep is not the same the whole night long.",
        "It begins lightly, grows deep within an hour and then becomes shallow again. Dreams are longest "
        "towards the morning. People who are woken from deep sleep often do not know for a moment where they "
        "are.",
    ),
    (
        "The shop closed at six, but the owner was still there.",
        "He wiped the counter, put the lids on the jars and wrote down what had to be ordered. Then he "
        "switched off the lamp in the window and stood for a while in the dark, listening to the street.",
    ),
    (
        "Before you paint a wall, wash it.",
        "Dust and grease keep the paint from holding. Fill the holes, let them dry and rub them smooth with "
        "fine paper. Cover the floor, begin at the top and work downwards in broad strokes, always from the "
        "wet part.",
    ),
    (
        "The two sisters shared a room until they were grown.",
        "A line of chalk on the floor divided it, and neither was allowed to cross without asking. In the "
        "dark the line did not count. Then they talked until one of them no longer answered.",
    ),
    (
        "Wool keeps you warm even when it is wet.",
        "Its fibres are curled and hold a great deal of air, and air lets little heat escape. Cotton soaks up "
        "water like a sponge and clings to the skin, so it is a poor choice for a walk in the cold.",
    ),
    (
        "The meeting had lasted longer than anyone expected.",
        "Nobody wanted to speak first, and those who did speak said the same things twice. At last the "
        "chairwoman closed her folder, thanked them and asked that each of them write down one proposal by "
        "the end of the week.",
    ),
    (
        "Snow makes a town quiet.",
        "The wheels of the cars hardly sound, steps are muffled, and even the bells seem to ring from further "
        "away. Children notice it before they open their eyes, because the light on the ceiling is different.",
    ),
    (
        "He had never learnt to swim.",
        "As a boy he had always found a reason to stay on the bank, and later nobody asked. When his daughter "
        "was five he bought a ticket for the pool, stood in the shallow end and held on to the rail.",
    ),
    (
        "A library is more than its books.",
        "It is a warm room on a cold day, a table where one may work for hours and a person behind a desk who "
        "knows where to look. Some come to borrow, some to read the paper and some to be among people.",
    ),
    (
        "The engine would not start.",
        "He turned the key again and heard only a click. The lamps were dim, so he knew that the battery was "
        "empty. A neighbour brought a cable, joined the two cars and told him to wait a few minutes.",
    ),
    (
        "Plants in a dark corner grow long and thin.",
        "They stretch towards the window and put all their strength into the stem. Turn the pot a little "
        "every few days, give less water in winter and move it closer to the light as soon as the days grow "
        "longer.",
    ),
    (
        "The train ran along the coast for an hour.",
        "On one side there were gardens and washing on lines, on the other nothing but water. A small child "
        "pressed both hands against the glass and counted boats, and at every tunnel she began again from "
        "one.",
    ),
    (
        "Nobody remembered who had brought the first stone.",
        "It stood in the middle of the field, as high as a man, and the plough went round it every spring. "
        "Some said that it marked a grave and others that it had always been there and was simply too heavy "
        "to move.",
    ),
    (
        "If bread does not rise, the yeast may be too old.",
        "Stir a spoonful into warm water with a little sugar and wait ten minutes. If it foams, it is alive. "
        "If nothing happens, throw it away and buy another packet before you waste your flour.",
    ),
    (
        "The doctor listened for a long time.",
        "Then she put the instrument away and said that there was nothing to worry about. He should walk "
        "more, eat less salt and come back in half a year. He felt so light that he took the stairs two at a "
        "time.",
    ),
)
"""(first sentence, the rest)."""


def general_probes() -> Sequence[ScoreProbe]:
    """What is asked: how probable each text's rest is after its first sentence."""
    return [
        ScoreProbe(purpose="general_text", item=f"general/{n}", prompt=prompt, targets=(rest,))
        for n, (prompt, rest) in enumerate(TEXTS, 1)
    ]
