#include "bench/search/closed_form.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>

#include "bench/search/noise.h"

namespace winnow {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr int kMaxResource = 81;  // 3^4: five brackets under Hyperband's usual reduction factor of 3

double Square(double x) { return x * x; }

// Decreases from 1 at level 1 to 0 at R as level^-speed: the power law of learning curves (Hestness et al.
// 2017, arXiv 1712.00409, section 2).
double PowerDecay(int level, double speed) {
  const double end = std::pow(kMaxResource, -speed);
  return (std::pow(level, -speed) - end) / (1 - end);
}

// A curve's distance from its final value at `level`, relative to its family's usual distance at level 1: a
// slow one (slowness 1) starts three times as far as a fast one (0) and catches up later.
double Lack(int level, double slowness) { return (0.5 + slowness) * PowerDecay(level, 1.2 - 0.6 * slowness); }

// Decreases from almost 1 at level 1 to 0 at R as exp(-level / time).
double ExponentialDecay(int level, double time) {
  const double end = std::exp(-kMaxResource / time);
  return (std::exp(-level / time) - end) / (1 - end);
}

std::vector<FamilyParameter> Cube(int dimensions, double min, double max) {
  std::vector<FamilyParameter> parameters;
  for (int i = 1; i <= dimensions; ++i) {
    parameters.push_back({"x" + std::to_string(i), FamilyKind::kContinuous, min, max, false});
  }
  return parameters;
}

class ClosedForm : public Family {
 public:
  ClosedForm(std::string name, uint64_t number, std::vector<FamilyParameter> parameters, double optimum,
             std::vector<double> best)
      : Family(std::move(name), std::move(parameters), kMaxResource),
        number_(number),
        optimum_(optimum),
        best_(std::move(best)) {}

  double optimum() const override { return optimum_; }
  std::vector<double> optimizer() const override { return ToUnit(best_); }

 protected:
  double ObservedAt(const std::vector<double>& x, int level, uint64_t /*seed*/) const override {
    return ValueAt(x, level);
  }

  uint64_t number() const { return number_; }

 private:
  uint64_t number_;  // keeps the noise of families apart
  double optimum_;
  std::vector<double> best_;  // native values
};

// Branin, negated: three global optima. At low levels a curve lacks the difference to the cheap function of
// Kandasamy et al. 2017 (BOCA, appendix D) at its lowest fidelity. Slowness decreases with x1, so that the
// three optima look different there.
class Branin : public ClosedForm {
 public:
  Branin()
      : ClosedForm(
            "branin", 1,
            {{"x1", FamilyKind::kContinuous, -5, 10, false}, {"x2", FamilyKind::kContinuous, 0, 15, false}},
            -10 / (8 * kPi), {kPi, 2.275}) {}

 protected:
  double ValueAt(const std::vector<double>& x, int level) const override {
    constexpr double kLack = 30;
    const double full = Of(x, 0);
    return full - (kLack + std::abs(Of(x, 1) - full)) * Lack(level, (10 - x[0]) / 15);
  }

 private:
  static double Of(const std::vector<double>& x, double cheap) {
    const double b = 5.1 / (4 * kPi * kPi) - 0.01 * cheap;
    const double c = 5 / kPi - 0.1 * cheap;
    const double t = 1 / (8 * kPi) + 0.05 * cheap;
    return -(Square(x[1] - b * x[0] * x[0] + c * x[0] - 6) + 10 * (1 - t) * std::cos(x[0]) + 10);
  }
};

// Hartmann-6 (Dixon and Szego 1978). As in Kandasamy et al. 2017 (BOCA, appendix D) low fidelities have
// smaller peaks; here the global optimum's shrinks most, so that the second best optimum (3.20) looks better
// at level 1.
class Hartmann6 : public ClosedForm {
 public:
  Hartmann6()
      // The published point, polished by Nelder and Mead's method.
      : ClosedForm("hartmann6", 2, Cube(6, 0, 1), 3.322368011415515,
                   {0.20168951, 0.15001069, 0.47687398, 0.27533243, 0.31165162, 0.65730054}) {}

 protected:
  double ValueAt(const std::vector<double>& x, int level) const override {
    static constexpr double kA[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                                        {0.05, 10, 17, 0.1, 8, 14},
                                        {3, 3.5, 1.7, 10, 17, 8},
                                        {17, 8, 0.05, 10, 0.1, 14}};
    static constexpr double kP[4][6] = {{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
                                        {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
                                        {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
                                        {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}};
    static constexpr double kPeak[4] = {1.0, 1.2, 3.0, 3.2};
    static constexpr double kLoss[4] = {0.2, 0.4, 1.6, 0.8};  // of the peaks
    constexpr double kLack = 0.6;
    const double lack = Lack(level, x[2]);
    double sum = -kLack * lack;

    for (int i = 0; i < 4; ++i) {
      double exponent = 0;
      for (int j = 0; j < 6; ++j) exponent += kA[i][j] * Square(x[j] - kP[i][j]);
      sum += (kPeak[i] - kLoss[i] * lack) * std::exp(-exponent);
    }
    return sum;
  }
};

// Counting ones (Falkner, Klein, Hutter, BOHB, ICML 2018, section 5.1): half the parameters are 0/1
// categories, half the means of coins. At level l each coin has been tossed 9 l times, up to the paper's 729,
// and the fraction of heads replaces the mean. The value, the fraction of ones, is the same at every level;
// the noise decreases.
class CountingOnes : public ClosedForm {
 public:
  CountingOnes() : ClosedForm("counting_ones", 3, Parameters(), 1, std::vector<double>(2 * kHalf, 1.0)) {}

  Curve WholeCurve(const std::vector<double>& unit, uint64_t seed) const override {
    const std::vector<double> x = ToNative(unit);
    Curve curve;
    curve.values.assign(kMaxResource, ValueAt(x, 1));
    curve.observed = Tossed(x, kMaxResource, seed);
    return curve;
  }

 protected:
  double ValueAt(const std::vector<double>& x, int /*level*/) const override {
    double sum = 0;
    for (const double value : x) sum += value;
    return sum / (2 * kHalf);
  }

  double ObservedAt(const std::vector<double>& x, int level, uint64_t seed) const override {
    return Tossed(x, level, seed).back();
  }

 private:
  static constexpr int kHalf = 8;
  static constexpr int kTossesPerLevel = 9;

  // Returns the observations at levels 1..levels.
  std::vector<double> Tossed(const std::vector<double>& x, int levels, uint64_t seed) const {
    const Noise noise(number(), x, seed);
    double ones = 0;
    for (int i = 0; i < kHalf; ++i) ones += x[i];
    std::vector<double> observed;
    int64_t heads = 0;
    uint64_t tosses = 0;  // of each coin
    for (int level = 1; level <= levels; ++level) {
      for (int toss = 0; toss < kTossesPerLevel; ++toss, ++tosses) {
        for (int i = 0; i < kHalf; ++i) heads += noise.Uniform(tosses * kHalf + i) < x[kHalf + i];
      }
      observed.push_back((ones + static_cast<double>(heads) / static_cast<double>(tosses)) / (2 * kHalf));
    }
    return observed;
  }

  static std::vector<FamilyParameter> Parameters() {
    std::vector<FamilyParameter> parameters;
    for (int i = 1; i <= kHalf; ++i) {
      parameters.push_back({"flag" + std::to_string(i), FamilyKind::kCategorical, 0, 1, false});
    }
    for (int i = 1; i <= kHalf; ++i) {
      parameters.push_back({"coin" + std::to_string(i), FamilyKind::kContinuous, 0, 1, false});
    }
    return parameters;
  }
};

// Crossing curves: every curve starts at chance; a high learning rate reaches its plateau within a few
// levels, a low one takes most of R, and the best plateaus are those of low rates. The best rate depends on
// the optimiser.
class Crossing : public ClosedForm {
 public:
  Crossing()
      : ClosedForm("crossing", 4,
                   {{"learning_rate", FamilyKind::kContinuous, 1e-4, 1, true},
                    {"width", FamilyKind::kInteger, 16, 512, true},
                    {"dropout", FamilyKind::kContinuous, 0, 0.9, false},
                    {"momentum", FamilyKind::kContinuous, 0, 1, false},
                    {"optimizer", FamilyKind::kCategorical, 0, 2, false}},
                   1, {kBestRate[1], 181, 0.25, 0.7, 1}) {}

 protected:
  double ValueAt(const std::vector<double>& x, int level) const override {
    constexpr double kChance = 0.1;
    constexpr double kHandicap[] = {0.08, 0, 0.03};  // of the optimisers
    constexpr double kSlow = 30, kFast = 3;          // decay times at the ends of the learning rate's range
    const auto optimizer = static_cast<size_t>(x[4]);
    const double rate = std::log10(x[0] / kBestRate[optimizer]);
    const double loss = 0.08 * rate * rate + 0.15 * Square(std::log2(x[1] / 181)) / 4 +
                        1.2 * Square(x[2] - 0.25) + 0.8 * Square(x[3] - 0.7) + kHandicap[optimizer];
    const double full = kChance + (1 - kChance) * std::exp(-loss);
    const double slowness = -std::log10(x[0]) / 4;  // 0 at learning rate 1, 1 at 1e-4
    const double time = kFast * std::pow(kSlow / kFast, slowness);
    return full - (full - kChance) * ExponentialDecay(level, time);
  }

 private:
  static constexpr double kBestRate[] = {1e-2, 1e-3, 3e-3};
};

// Levy's function (4 dimensions, many local optima) on a log scale, with noise of a third of its own
// deviation over the space at every level.
class Noisy : public ClosedForm {
 public:
  Noisy() : ClosedForm("noisy", 5, Cube(4, -10, 10), 0, std::vector<double>(4, 1.0)) {}

 protected:
  double ValueAt(const std::vector<double>& x, int level) const override {
    constexpr double kLack = 1.5;
    return -std::log1p(Levy(x)) - kLack * Lack(level, (x[0] + 10) / 20);
  }

  double ObservedAt(const std::vector<double>& x, int level, uint64_t seed) const override {
    constexpr double kDeviation = 0.3;
    return ValueAt(x, level) + kDeviation * Noise(number(), x, seed).Normal(level);
  }

 private:
  static double Levy(const std::vector<double>& x) {
    const auto w = [&x](size_t i) { return 1 + (x[i] - 1) / 4; };
    double sum = Square(std::sin(kPi * w(0)));
    for (size_t i = 0; i + 1 < x.size(); ++i) {
      sum += Square(w(i) - 1) * (1 + 10 * Square(std::sin(kPi * w(i) + 1)));
    }
    const double last = w(x.size() - 1);
    return sum + Square(last - 1) * (1 + Square(std::sin(2 * kPi * last)));
  }
};

// Ackley's function in 20 dimensions of which six matter, with an optimum away from the middle. Two of the
// others determine how slow a curve is.
class D20 : public ClosedForm {
 public:
  D20() : ClosedForm("d20", 6, Cube(20, -5, 5), 0, Best()) {}

 protected:
  double ValueAt(const std::vector<double>& x, int level) const override {
    constexpr double kLack = 5;

    static const std::vector<double> best = Best();
    double squares = 0, cosines = 0, weights = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double weight = i < kWeight.size() ? kWeight[i] : kRest;
      const double z = x[i] - best[i];
      weights += weight;
      squares += weight * z * z;
      cosines += weight * std::cos(2 * kPi * z);
    }
    const double ackley = -20 * std::expm1(-0.2 * std::sqrt(squares / weights)) +
                          std::numbers::e * -std::expm1(cosines / weights - 1);
    return -ackley - kLack * Lack(level, (x[6] + x[7] + 10) / 20);
  }

 private:
  static constexpr std::array<double, 6> kWeight = {1, 1, 0.5, 0.5, 0.25, 0.25};
  static constexpr double kRest = 0.01;

  static std::vector<double> Best() {
    std::vector<double> best;
    for (int i = 0; i < 20; ++i) best.push_back(4 * std::sin(1 + 2.4 * i));  // spread over -4..4
    return best;
  }
};

template <typename T>
std::unique_ptr<Family> Make() {
  return std::make_unique<T>();
}

const std::pair<const char*, std::unique_ptr<Family> (*)()> kFamilies[] = {
    {"branin", Make<Branin>},     {"hartmann6", Make<Hartmann6>}, {"counting_ones", Make<CountingOnes>},
    {"crossing", Make<Crossing>}, {"noisy", Make<Noisy>},         {"d20", Make<D20>},
};

}  // namespace

std::vector<std::string> FamilyNames() {
  std::vector<std::string> names;
  for (const auto& [name, make] : kFamilies) names.emplace_back(name);
  return names;
}

std::unique_ptr<Family> MakeClosedForm(std::string_view name) {
  for (const auto& [each, make] : kFamilies) {
    if (name == each) return make();
  }
  return nullptr;
}

}  // namespace winnow
