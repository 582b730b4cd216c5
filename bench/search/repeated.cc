#include "bench/search/repeated.h"

#include <algorithm>
#include <utility>

#include "bench/search/noise.h"

namespace winnow {
namespace {

constexpr int kRepeats = 5;
constexpr double kErrorShare = 0.2;
constexpr uint64_t kOwnError = 101, kSharedError = 102, kSample = 103;  // purposes of draws

class Repeated : public Family {
 public:
  explicit Repeated(std::unique_ptr<Family> base)
      : Family("repeated " + base->name(), base->parameters(), kRepeats), base_(std::move(base)) {
    deviation_ = kErrorShare * (optimum() - Median());
  }

  double optimum() const override { return base_->optimum(); }
  std::vector<double> optimizer() const override { return base_->optimizer(); }

 protected:
  double ValueAt(const std::vector<double>& native, int /*level*/) const override {
    return base_->Value(base_->ToUnit(native), base_->max_resource());
  }
  double ObservedAt(const std::vector<double>& native, int level, uint64_t seed) const override {
    const auto repeat = static_cast<uint64_t>(level);
    const double own = Noise(kOwnError, native, seed).Normal(repeat);
    const double shared = Noise(kSharedError, {}, seed).Normal(repeat);
    return ValueAt(native, level) + deviation_ * (own + shared);
  }

 private:
  // The median over a sample that is always the same.
  double Median() const {
    constexpr size_t kConfigurations = 1001;
    const Noise noise(kSample, {}, 0);
    std::vector<double> values;
    uint64_t draws = 0;
    while (values.size() < kConfigurations) {
      std::vector<double> unit(parameters().size());
      for (double& coordinate : unit) coordinate = noise.Uniform(draws++);
      values.push_back(base_->Value(unit, base_->max_resource()));
    }
    const auto middle = values.begin() + kConfigurations / 2;
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }

  std::unique_ptr<Family> base_;
  double deviation_ = 0;
};

}  // namespace

std::unique_ptr<Family> MakeRepeated(std::unique_ptr<Family> base) {
  return std::make_unique<Repeated>(std::move(base));
}

}  // namespace winnow
