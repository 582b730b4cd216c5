#include "scheduler/suggest_ranges.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>

#include "scheduler/space/rounded.h"
#include "scheduler/space/space.h"

namespace winnow {
namespace {

constexpr double kGood = 0.25;  // of a job's trials
constexpr size_t kLeastGood = 10;
constexpr double kChance = 0.05;
constexpr double kRangeMargin = 0.1;  // on both sides of what was good
constexpr double kNarrower = 0.8;  // of the range at most, else it stays
constexpr double kEdge = 0.05, kNearEdge = 0.25;
constexpr double kWider = 0.25;

// A value of a parameter in a trial.
struct Tried {
  double at = 0;  // on the range's scale; of listed values the index
  bool good = false;
};

double OnScale(double value, Scaling scaling) {
  if (scaling == Scaling::kLog) return std::log(value);
  return scaling == Scaling::kReverseLog ? -std::log1p(-value) : value;
}
double OffScale(double at, Scaling scaling) {
  if (scaling == Scaling::kLog) return std::exp(at);
  return scaling == Scaling::kReverseLog ? -std::expm1(-at) : at;
}

// A range of numbers, integers or not.
struct Numbers {
  double min = 0, max = 0;
  Scaling scaling = Scaling::kLinear;
  bool whole = false;

  double low() const { return OnScale(min, scaling); }
  double high() const { return OnScale(max, scaling); }
};

std::optional<Numbers> NumbersOf(const Range& range) {
  if (const auto* real = std::get_if<ContinuousRange>(&range))
    return Numbers{real->min, real->max, real->scaling};
  const auto* integer = std::get_if<IntegerRange>(&range);
  constexpr int64_t kExact = int64_t{1} << 52;
  if (integer == nullptr || integer->min < -kExact || integer->max > kExact) return std::nullopt;
  // Reverse-log integers are measured from the other end, which a narrower range moves: linear is near
  // enough.
  return Numbers{static_cast<double>(integer->min), static_cast<double>(integer->max),
                 integer->scaling == Scaling::kLog ? Scaling::kLog : Scaling::kLinear, true};
}

std::vector<std::string> TextsOf(const Range& range) {
  std::vector<std::string> texts;
  for (int64_t i = 0, n = ValueCount(range); i < n; ++i) texts.push_back(ValueToString(NthValue(range, i)));
  return texts;
}

std::string Listed(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) joined += (joined.empty() ? "" : ", ") + text;
  return joined;
}

// Down to a multiple of a power of ten that is at most a tenth of `size`.
double Floored(double value, double size) {
  const auto exponent = static_cast<int>(std::floor(std::log10(size))) - 1;
  const double steps = std::floor(value * std::pow(10, -exponent));
  return std::stod(std::to_string(std::llround(steps)) + "e" + std::to_string(exponent));
}

// The chance that `good` of `all` trials drawn without putting back are all among `inside` of them.
double ChanceAllInside(size_t inside, size_t good, size_t all) {
  double chance = 1;
  for (size_t i = 0; i < good; ++i) {
    if (inside <= i) return 0;
    chance *= static_cast<double>(inside - i) / static_cast<double>(all - i);
  }
  return chance;
}

class Suggester {
 public:
  Suggester(const std::vector<Parameter>& parameters, const std::vector<EarlierJob>& jobs)
      : parameters_(parameters), jobs_(jobs) {
    for (const EarlierJob& job : jobs) ranked_.push_back(Ranked(job));
  }

  std::vector<SuggestedRange> Run() {
    std::vector<SuggestedRange> suggested;
    for (size_t p = 0; p < parameters_.size(); ++p) {
      auto found = Wider(p);
      if (!found) found = NumbersOf(parameters_[p].range) ? Narrower(p) : Fewer(p);
      if (found) suggested.push_back(*std::move(found));
    }
    return suggested;
  }

 private:
  // The best first.
  static std::vector<const EarlierTrial*> Ranked(const EarlierJob& job) {
    std::vector<const EarlierTrial*> ranked;
    for (const EarlierTrial& trial : job.trials) ranked.push_back(&trial);
    const double sign = job.goal == Goal::kMaximize ? 1 : -1;
    std::stable_sort(ranked.begin(), ranked.end(), [sign](const EarlierTrial* a, const EarlierTrial* b) {
      return sign * a->objective > sign * b->objective;
    });
    return ranked;
  }

  // Where the value is on the parameter's scale; absent: nowhere.
  static std::optional<double> PlaceOf(const Range& range, const Value& value) {
    const auto numbers = NumbersOf(range);
    double number = 0;
    if (const auto* integer = std::get_if<int64_t>(&value)) {
      number = static_cast<double>(*integer);
    } else if (const auto* real = std::get_if<double>(&value)) {
      number = *real;
    } else if (numbers) {
      return std::nullopt;
    }
    if (numbers) {
      const double at = OnScale(number, numbers->scaling);
      return std::isfinite(at) ? std::optional(at) : std::nullopt;
    }
    const std::vector<std::string> texts = TextsOf(range);
    const auto found = std::find(texts.begin(), texts.end(), ValueToString(value));
    if (found == texts.end()) return std::nullopt;
    return static_cast<double>(found - texts.begin());
  }

  std::vector<Tried> TriedOf(size_t p) const {
    std::vector<Tried> tried;
    for (size_t j = 0; j < jobs_.size(); ++j) {
      if (!jobs_[j].ranges[p]) continue;
      const size_t good = GoodOf(ranked_[j]);
      for (size_t i = 0; i < ranked_[j].size(); ++i) {
        const auto at = PlaceOf(parameters_[p].range, ranked_[j][i]->configuration[p]);
        if (at) tried.push_back({*at, i < good});
      }
    }
    return tried;
  }

  static size_t GoodOf(const std::vector<const EarlierTrial*>& ranked) {
    return static_cast<size_t>(kGood * static_cast<double>(ranked.size()));
  }
  static size_t GoodOf(const std::vector<Tried>& tried) {
    return static_cast<size_t>(
        std::count_if(tried.begin(), tried.end(), [](const Tried& t) { return t.good; }));
  }

  // From `low` to `high` on the scale; ends that are the old ones stay as they are written, others are
  // rounded outwards.
  static Range RangeFrom(const Range& old, const Numbers& numbers, double low, double high) {
    double min = OffScale(low, numbers.scaling), max = OffScale(high, numbers.scaling);
    const bool keeps_min = low == numbers.low(), keeps_max = high == numbers.high();
    if (const auto* integer = std::get_if<IntegerRange>(&old)) {
      return IntegerRange{keeps_min ? integer->min : std::llround(std::floor(min)),
                          keeps_max ? integer->max : std::llround(std::ceil(max)), integer->scaling};
    }
    const bool log = numbers.scaling == Scaling::kLog;
    const double width = numbers.max - numbers.min;
    if (!keeps_min && min != 0) min = Floored(min, log ? min : width);
    if (!keeps_max && numbers.scaling != Scaling::kReverseLog) max = -Floored(-max, log ? max : width);
    if (numbers.min >= 0) min = std::max(0.0, min);
    return ContinuousRange{keeps_min ? numbers.min : min, keeps_max ? numbers.max : max, numbers.scaling};
  }

  // The part of a range of numbers that lies in the old one, which is of the same kind.
  static Range Within(const Range& old, Range range) {
    const auto clamp = [](const auto& outer, auto& inner) {
      inner.min = std::max(inner.min, outer.min);
      inner.max = std::min(inner.max, outer.max);
    };
    if (auto* integer = std::get_if<IntegerRange>(&range)) {
      clamp(std::get<IntegerRange>(old), *integer);
    } else {
      clamp(std::get<ContinuousRange>(old), std::get<ContinuousRange>(range));
    }
    return range;
  }

  std::optional<SuggestedRange> Wider(size_t p) const {
    const auto numbers = NumbersOf(parameters_[p].range);
    if (!numbers || numbers->min == numbers->max) return std::nullopt;
    size_t most = jobs_.size();
    for (size_t j = 0; j < jobs_.size(); ++j) {
      if (jobs_[j].ranges[p] && (most == jobs_.size() || ranked_[j].size() > ranked_[most].size())) most = j;
    }
    if (most == jobs_.size() || ranked_[most].size() < 4 * kLeastGood) return std::nullopt;
    const auto theirs = NumbersOf(*jobs_[most].ranges[p]);
    const Value& best = ranked_[most].front()->configuration[p];
    const auto at = PlaceOf(parameters_[p].range, best);
    if (!at) return std::nullopt;
    const double low = numbers->low(), high = numbers->high(), width = high - low;
    const bool lower = theirs->min == numbers->min && *at < low + kEdge * width;
    const bool upper = theirs->max == numbers->max && *at > high - kEdge * width;
    const size_t good = GoodOf(ranked_[most]);
    size_t near = 0;
    for (size_t i = 0; i < good; ++i) {
      const auto place = PlaceOf(parameters_[p].range, ranked_[most][i]->configuration[p]);
      if (place && (lower ? *place - low : high - *place) <= kNearEdge * width) ++near;
    }
    if (2 * near < good) return std::nullopt;
    if (lower == upper || (lower && numbers->scaling == Scaling::kLinear && numbers->min == 0))
      return std::nullopt;
    double new_low = lower ? low - kWider * width : low, new_high = upper ? high + kWider * width : high;
    if (numbers->scaling != Scaling::kLog && numbers->min >= 0) new_low = std::max(0.0, new_low);
    if (numbers->whole && numbers->scaling == Scaling::kLog) new_low = std::max(0.0, new_low);  // at least 1
    SuggestedRange suggested{p, RangeFrom(parameters_[p].range, *numbers, new_low, new_high), true, ""};
    if (suggested.range == parameters_[p].range) return std::nullopt;
    suggested.why = "The best of the " + std::to_string(ranked_[most].size()) + " trials of job " +
                    jobs_[most].id + " has " + ValueToString(best) + ", at the " +
                    (lower ? "lower" : "upper") + " end " + ThreeDigits(lower ? numbers->min : numbers->max) +
                    ": there may be better values beyond it.";
    return suggested;
  }

  std::optional<SuggestedRange> Narrower(size_t p) const {
    const Numbers numbers = *NumbersOf(parameters_[p].range);
    const std::vector<Tried> tried = TriedOf(p);
    const size_t good = GoodOf(tried);
    if (good < kLeastGood) return std::nullopt;
    double first = std::numeric_limits<double>::infinity(), last = -first;
    for (const Tried& each : tried) {
      if (!each.good) continue;
      first = std::min(first, each.at);
      last = std::max(last, each.at);
    }
    const auto inside = static_cast<size_t>(std::count_if(
        tried.begin(), tried.end(), [&](const Tried& each) { return each.at >= first && each.at <= last; }));
    const double chance = ChanceAllInside(inside, good, tried.size());
    const double low = numbers.low(), high = numbers.high(), width = high - low;
    const double new_low = std::max(low, first - kRangeMargin * width),
                 new_high = std::min(high, last + kRangeMargin * width);
    if (chance > kChance || new_high - new_low > kNarrower * width || !(new_low < new_high))
      return std::nullopt;
    const auto text = [&](double at) {
      const double value = OffScale(at, numbers.scaling);
      return numbers.whole ? std::to_string(std::llround(value)) : ThreeDigits(value);
    };
    const Range& old = parameters_[p].range;
    SuggestedRange suggested{p, Within(old, RangeFrom(old, numbers, new_low, new_high)), false,
                             "All " + std::to_string(good) + " good trials have it from " + text(first) +
                                 " to " + text(last) + ", as do " + std::to_string(inside) + " of all " +
                                 std::to_string(tried.size()) + Sentence(chance)};
    // Rounded outwards, a range of few integers may be the old one.
    if (suggested.range == old) return std::nullopt;
    return suggested;
  }

  // Keeps the listed values that good trials have, and those that too few trials have tried.
  std::optional<SuggestedRange> Fewer(size_t p) const {
    const std::vector<Tried> tried = TriedOf(p);
    const size_t good = GoodOf(tried);
    if (good < kLeastGood) return std::nullopt;
    const std::vector<std::string> texts = TextsOf(parameters_[p].range);
    std::vector<size_t> with(texts.size()), good_with(texts.size());
    for (const Tried& each : tried) {
      ++with[static_cast<size_t>(each.at)];
      good_with[static_cast<size_t>(each.at)] += each.good ? 1 : 0;
    }
    std::set<size_t> left_out;
    double most = 0;
    for (size_t v = 0; v < texts.size(); ++v) {
      const double chance = ChanceAllInside(tried.size() - with[v], good, tried.size());
      if (good_with[v] > 0 || chance > kChance) continue;
      left_out.insert(v);
      most = std::max(most, chance);
    }
    if (left_out.empty()) return std::nullopt;
    SuggestedRange suggested{p, parameters_[p].range, false, ""};
    std::vector<std::string> names;
    for (const size_t v : left_out) names.push_back(texts[v]);
    std::visit(
        [&](auto& range) {
          if constexpr (requires { range.values; }) {
            for (auto v = left_out.rbegin(); v != left_out.rend(); ++v) {
              range.values.erase(range.values.begin() + static_cast<int64_t>(*v));
            }
          }
        },
        suggested.range);
    suggested.why =
        "None of the " + std::to_string(good) + " good trials has " + Listed(names) + Sentence(most);
    return suggested;
  }

  static std::string Sentence(double chance) {
    return "; by chance that would be so with a probability of " + Percent(chance, 1) + ".";
  }

  const std::vector<Parameter>& parameters_;
  const std::vector<EarlierJob>& jobs_;
  std::vector<std::vector<const EarlierTrial*>> ranked_;  // by job
};

}  // namespace

std::vector<SuggestedRange> SuggestRanges(const std::vector<Parameter>& parameters,
                                          const std::vector<EarlierJob>& jobs) {
  return Suggester(parameters, jobs).Run();
}

std::string RangeText(const Range& range) {
  const auto scaled = [](const std::string& min, const std::string& max, Scaling scaling) {
    const char* names[] = {"", ", LOG", ", REVERSE_LOG"};
    return min + " to " + max + names[static_cast<int>(scaling)];
  };
  if (const auto* integer = std::get_if<IntegerRange>(&range)) {
    return scaled(std::to_string(integer->min), std::to_string(integer->max), integer->scaling);
  }
  if (const auto* real = std::get_if<ContinuousRange>(&range)) {
    return scaled(DoubleToString(real->min), DoubleToString(real->max), real->scaling);
  }
  return "one of " + Listed(TextsOf(range));
}

}  // namespace winnow
