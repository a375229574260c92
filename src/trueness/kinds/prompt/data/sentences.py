"""Plain sentences among which facts are planted where nobody gives passages of their own; none holds a number."""

from __future__ import annotations

import numpy as np

from trueness.kinds.prompt.data.prompts import PromptExample, PromptExamples

SENTENCES = (
    "Heavy rain closed the coastal road for most of the morning.",
    "The museum will show its collection of old maps until the end of spring.",
    "Farmers in the valley expect a smaller harvest of apples than last year.",
    "A ferry with mechanical trouble was towed back to the harbour.",
    "The town council voted to plant trees along the main street.",
    "Doctors advise people with a cough to stay at home for some days.",
    "The orchestra opened its season with a piece for strings and drums.",
    "Engineers are testing a bridge made entirely of recycled steel.",
    "A lost dog walked from one village to the next and found its owner.",
    "The bakery on the corner has started to sell bread made with rye.",
    "Scientists found a new species of moth in a forest near the border.",
    "The school moved its lessons outdoors while the roof was repaired.",
    "Prices for firewood rose sharply when the first frost came.",
    "The goalkeeper saved a penalty in the last minute of the match.",
    "Volunteers cleaned the beach after the storm had passed.",
    "A bookshop that had been closed for years opened its doors again.",
    "The train to the capital was delayed because of work on the tracks.",
    "Beekeepers report that their hives came well through the winter.",
    "The mayor thanked the fire brigade for its quick work at the mill.",
    "An old lighthouse is being turned into a small hotel.",
    "The river is lower than it usually is at this time of the year.",
    "Students built a boat out of cardboard and crossed the lake in it.",
    "A rare coin was discovered under the floor of a farmhouse.",
    "The library lends garden tools as well as books and films.",
    "The film festival gave its main prize to a story about fishermen.",
    "Many households now collect rainwater for their gardens.",
    "A truck that carried oranges overturned, but nobody was hurt.",
    "The weather service warns of strong winds in the mountains.",
    "The choir is looking for singers with deep voices.",
    "Archaeologists uncovered the wall of a Roman bath below the market.",
    "The company will close its oldest factory and build a new one inland.",
    "A cyclist crossed the whole country in less than a week.",
    "The swimming pool stays closed until the heating has been mended.",
    "Fishermen complained that seals had damaged their nets.",
    "The new tram line connects the station with the hospital.",
    "A painting that had been thought lost was found in an attic.",
    "The price of milk has hardly changed since the autumn.",
    "Children of the village school wrote letters to an astronaut.",
    "The court postponed its decision about the new airport.",
    "Strong demand for bicycles has led to long waits in the shops.",
    "A team of climbers reached the summit shortly after dawn.",
    "The theatre reopened with a comedy about a travelling salesman.",
    "Owls have been seen in the park for the first time in decades.",
    "The post office will open later on Fridays.",
    "Researchers measured how quickly the glacier is melting.",
    "A chess club for beginners meets in the community hall.",
    "The ship brought medicine and blankets to the island.",
    "The vineyard won a prize for its white wine.",
    "Residents asked for slower traffic in front of the nursery.",
    "A power cut left parts of the city in the dark for an hour.",
    "The zoo named its young elephant after a famous explorer.",
    "The potato soup of a retired cook won the village contest.",
    "An exhibition explains how paper was made by hand.",
    "The marathon will take a new route through the old harbour.",
    "Storks have returned to their nest on the church tower.",
    "The radio station broadcasts a programme about gardening.",
    "A carpenter restored the wooden doors of the town hall.",
    "Snow fell on the hills although it was already April.",
    "The tennis final was interrupted twice by rain.",
    "A photographer travelled for months to picture wild horses.",
)


def passages_among(count: int, seed: int, *, sentences: int = 1) -> tuple[str, ...]:
    """So many passages of so many sentences each; a sentence comes again only where there are too few."""
    rng = np.random.default_rng([seed, *b"passages"])
    needed = count * sentences
    drawn: list[int] = []
    while len(drawn) < needed:
        drawn += rng.permutation(len(SENTENCES)).tolist()
    parts = [SENTENCES[number] for number in drawn[:needed]]
    return tuple(" ".join(parts[begin : begin + sentences]) for begin in range(0, needed, sentences))


def bare_examples(cases: int, passages: int, *, sentences: int = 1, seed: int = 0) -> PromptExamples:
    """Passages without a fact, among which scenes are planted."""
    return PromptExamples(
        PromptExample("", passages_among(passages, 1_000_003 * seed + number, sentences=sentences))
        for number in range(cases)
    )
