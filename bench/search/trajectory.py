"""One run of a strategy as everybody is measured: what was spent, and the regret of the incumbent.

A report of a trial at a level costs one unit. The incumbent is the trial and level with the greatest observed value so
far; its regret is the family's optimum less the value without noise there. Under noise it may rise.
"""

FIELDS = ("strategy", "family", "seed", "spent", "regret")
REDUCTION_FACTOR = 3  # of every strategy that halves


class BudgetSpent(Exception):
    """The run is over: no further report may be made."""


class Meter:
    def __init__(self, family, seed, budget):
        self.family, self.seed, self.budget = family, seed, budget
        self.spent = 0
        self.points = []  # (spent, regret) whenever the regret changed, and at the end
        self._best = None

    def start(self, configuration):
        """A trial of {name: value}, at level 0."""
        return self.start_at(self.family.to_unit(configuration))

    def start_at(self, unit):
        """A trial of a point of the unit cube."""
        return Trial(self, *self.family.curve(unit, self.seed))

    def charge(self, value, observed):
        self.spent += 1
        if self._best is None or observed > self._best:
            self._best = observed
            regret = self.family.optimum - value
            if not self.points or regret != self.points[-1][1]:
                self.points.append((self.spent, regret))
        if self.spent >= self.budget:
            if self.points[-1][0] < self.spent:
                self.points.append((self.spent, self.points[-1][1]))
            raise BudgetSpent


class Trial:
    def __init__(self, meter, values, observed):
        self._meter, self._values, self._observed = meter, values, observed
        self.level = 0

    def advance(self):
        """Trains to the next level and returns what is observed there. Raises BudgetSpent after the last report that
        the budget holds."""
        self.level += 1
        observed = self._observed[self.level - 1]
        self._meter.charge(self._values[self.level - 1], observed)
        return observed

    @property
    def best(self):
        """The greatest value observed so far."""
        return max(self._observed[:self.level])
