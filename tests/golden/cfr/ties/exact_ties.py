"""Alternating counterfactual regret minimisation with 200 digits: two players, one private card, one round of limit betting.

Usage: python3 exact_ties.py GAME ITERATIONS > exact.json

A number below 10⁻¹⁵⁰ is taken for an exact zero. Written from Zinkevich et al. (2007) alone: plain recursion over deals and histories.
"""
import itertools
import json
import sys
from decimal import Decimal, getcontext

getcontext().prec = 200
ZERO, ONE, LEAST = Decimal(0), Decimal(1), Decimal(10) ** -150


def read(path):
    values = {}
    for line in open(path):
        if "=" in line:
            key, value = line.split("=")
            values[key.strip().lower()] = [int(word) for word in value.split()]
    return values


def main(path, iterations):
    rules = read(path)
    size, most = rules["raisesize"][0], rules["maxraises"][0]
    cards = [rank for rank in range(rules["numranks"][0]) for _ in range(rules["numsuits"][0])]
    deals = list(itertools.permutations(range(len(cards)), 2))
    chance = ONE / len(deals)
    regrets, averages, strategies, ties = {}, {}, {}, {}

    def actions(history):
        return ("f" if history.endswith("r") else "") + "c" + ("r" if history.count("r") < most else "")

    def is_over(history):
        return history.endswith("f") or (len(history) > 1 and history.endswith("c"))

    def payoff(history, deal, seat):
        spent = [Decimal(blind) for blind in rules["blind"]]
        winner = None
        for at, action in enumerate(history):
            if action == "f":
                winner = 1 - at % 2
            else:
                spent[at % 2] = max(spent) + (size if action == "r" else 0)
        if winner is None:
            first, second = (cards[card] for card in deal)
            if first == second:
                return ZERO
            winner = 0 if first > second else 1
        return spent[1 - seat] if winner == seat else -spent[seat]

    def current(key, n):
        return strategies.setdefault(key, [ONE / n] * n)

    def average(key, n):
        sums = averages.get(key, [])
        return [s / sum(sums) for s in sums] if sum(sums) else [ONE / n] * n

    def learn(seat, deal, history, others, added):
        """The value to a seat; adds the regrets of this deal."""
        if is_over(history):
            return payoff(history, deal, seat)
        turn, names = len(history) % 2, actions(history)
        key = (turn, deal[turn], history)
        chosen = current(key, len(names))
        if turn != seat:
            return sum(p * learn(seat, deal, history + a, others * p, added) for a, p in zip(names, chosen))
        values = [learn(seat, deal, history + a, others, added) for a in names]
        value = sum(p * v for p, v in zip(chosen, values))
        for at, one in enumerate(values):
            added.setdefault(key, [ZERO] * len(names))[at] += others * (one - value)
        return value

    def add_average(seat, card, history, reach):
        if is_over(history):
            return
        names = actions(history)
        chosen = [ONE] * len(names)
        if len(history) % 2 == seat:
            key = (seat, card, history)
            chosen = current(key, len(names))
            sums = averages.setdefault(key, [ZERO] * len(names))
            for at, p in enumerate(chosen):
                sums[at] += reach * p
        for a, p in zip(names, chosen):
            add_average(seat, card, history + a, reach * p)

    def response(seat, card, history, weights):
        """What a hand wins at best against the average strategy; `weights` of the other's hands."""
        if is_over(history):
            deal = (lambda other: (card, other)) if seat == 0 else (lambda other: (other, card))
            return sum(weight * payoff(history, deal(other), seat) for other, weight in weights.items())
        turn, names = len(history) % 2, actions(history)
        if turn == seat:
            return max(response(seat, card, history + a, weights) for a in names)
        after = lambda at: {o: w * average((turn, o, history), len(names))[at] for o, w in weights.items()}
        return sum(response(seat, card, history + a, after(at)) for at, a in enumerate(names))

    hands = range(len(cards))
    nash_conv = []
    for t in range(1, iterations + 1):
        for seat in range(2):
            for card in hands:
                add_average(seat, card, "", ONE)
            added = {}
            for deal in deals:
                learn(seat, deal, "", chance, added)
            for key, terms in added.items():
                table = [a + b for a, b in zip(regrets.get(key, [ZERO] * len(terms)), terms)]
                table = [regret if abs(regret) > LEAST else ZERO for regret in table]
                regrets[key] = table
                if max(table) == 0:
                    ties.setdefault(t, []).append(key)
                total = sum(max(regret, ZERO) for regret in table)
                n = len(table)
                strategies[key] = [max(r, ZERO) / total for r in table] if total > 0 else [ONE / n] * n
        best = [
            sum(response(seat, card, "", {o: chance for o in hands if o != card}) for card in hands)
            for seat in range(2)
        ]
        nash_conv.append(float(sum(best)))
    print(json.dumps({"nash_conv": nash_conv, "ties": ties}))


main(sys.argv[1], int(sys.argv[2]))
