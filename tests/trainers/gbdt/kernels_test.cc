#include "trainers/gbdt/tree/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "base/hash.h"
#include "tests/catch.h"
#include "trainers/gbdt/tree/sampling.h"

namespace winnow::gbdt {
namespace {

std::span<const Kernels* const> Runnable() {
  int count = 0;
  const Kernels* const* all = RunnableKernels(&count);
  return {all, static_cast<std::size_t>(count)};
}

GradientSum Of(NarrowPair pair) {
  return {static_cast<int32_t>(pair) >> 16, static_cast<int64_t>(pair & 0xffffu)};
}
GradientSum Of(WidePair pair) { return {pair.gradient, pair.hessian}; }
GradientSum Of(PackedSum sum) { return Unpack(sum); }
GradientSum Of(const GradientSum& sum) { return sum; }

// Histograms of a table of seven slots and 700 rows, for rows and slots chosen in every way, against plain
// sums.
template <typename Bin, typename Pair, typename Sum, typename Add>
void CheckAdd(int most_bins, int64_t pad, const std::vector<Pair>& gradients, Add add) {
  constexpr int kSlots = 7;
  std::vector<Bin> bins(gradients.size() * kSlots);
  for (std::size_t i = 0; i < bins.size(); ++i) bins[i] = static_cast<Bin>(HashOf(1, i) % most_bins);
  std::vector<uint32_t> listed;
  for (uint32_t row = 0; row < gradients.size(); row += 1 + HashOf(2, row) % 3) listed.push_back(row);
  std::vector<int32_t> every(kSlots);
  std::iota(every.begin(), every.end(), 0);
  const std::vector<std::vector<int32_t>> slot_lists = {every, {1, 4, 6}, {0, 2, 3, 4, 5}};
  for (const std::vector<int32_t>& slots : slot_lists) {
    for (const bool by_list : {true, false}) {
      std::vector<uint32_t> rows = listed;
      if (!by_list) {
        rows.resize(500);
        std::iota(rows.begin(), rows.end(), 13u);
      }
      std::vector<GradientSum> expected(slots.size() * pad);
      for (uint32_t row : rows) {
        for (std::size_t k = 0; k < slots.size(); ++k)
          expected[k * pad + bins[row * kSlots + slots[k]]] += Of(gradients[row]);
      }
      const Kernels::SlotSet set{slots.size() == kSlots ? nullptr : slots.data(),
                                 static_cast<int>(slots.size()), pad};
      for (const Kernels* kernels : Runnable()) {
        std::vector<Sum> sums(slots.size() * pad);
        (kernels->*add)(bins.data(), kSlots, set, gradients.data(),
                        {by_list ? rows.data() : nullptr, rows[0], static_cast<int64_t>(rows.size())},
                        sums.data());
        std::vector<GradientSum> found;
        for (const Sum& sum : sums) found.push_back(Of(sum));
        INFO(kernels->name << " slots " << slots.size() << " pad " << pad << " listed " << by_list);
        CHECK(found == expected);
      }
    }
  }
}

TEST_CASE("Kernels: every instruction set counts what plain sums are", "[gbdt]") {
  std::vector<NarrowPair> narrow;
  std::vector<WidePair> wide;
  for (uint64_t i = 0; i < 700; ++i) {
    const uint64_t bits = HashOf(3, i);
    narrow.push_back(static_cast<NarrowPair>(bits & 0xffff7fffu));
    wide.push_back({static_cast<int32_t>(bits % (1u << 31)) - (1 << 30), static_cast<int32_t>(bits >> 34)});
  }
  CheckAdd<uint8_t, NarrowPair, PackedSum>(256, 256, narrow, &Kernels::add_narrow8);
  CheckAdd<uint8_t, NarrowPair, PackedSum>(40, 40, narrow, &Kernels::add_narrow8);
  CheckAdd<uint16_t, NarrowPair, PackedSum>(1000, 1000, narrow, &Kernels::add_narrow16);
  CheckAdd<uint16_t, NarrowPair, PackedSum>(200, 256, narrow, &Kernels::add_narrow16);
  CheckAdd<uint8_t, WidePair, GradientSum>(256, 256, wide, &Kernels::add_wide8);
  CheckAdd<uint8_t, WidePair, GradientSum>(40, 40, wide, &Kernels::add_wide8);
  CheckAdd<uint16_t, WidePair, GradientSum>(1000, 1000, wide, &Kernels::add_wide16);
  CheckAdd<uint16_t, WidePair, GradientSum>(200, 256, wide, &Kernels::add_wide16);
}

TEST_CASE("Kernels: the largest gradients of kPackedRows rows fit a packed sum", "[gbdt]") {
  for (const int32_t gradient : {32767, -32767}) {
    const NarrowPair pair = (static_cast<uint32_t>(gradient) << 16) | 32767u;
    const std::vector<NarrowPair> gradients(kPackedRows, pair);
    const std::vector<uint8_t> bins(kPackedRows, 9);
    const GradientSum all{int64_t{gradient} * kPackedRows, int64_t{32767} * kPackedRows};
    for (const Kernels* kernels : Runnable()) {
      std::vector<PackedSum> sums(256);
      kernels->add_narrow8(bins.data(), 1, {nullptr, 1, 256}, gradients.data(), {nullptr, 0, kPackedRows},
                           sums.data());
      CHECK(Unpack(sums[9]) == all);
      double prefix_gradient[2], prefix_hessian[2];
      kernels->prefix_packed(sums.data() + 8, 2, prefix_gradient, prefix_hessian);
      CHECK(prefix_gradient[1] == static_cast<double>(all.gradient));
      CHECK(prefix_hessian[1] == static_cast<double>(all.hessian));
    }
  }
}

TEST_CASE("Kernels: packed sums are the numbers they stand for", "[gbdt]") {
  for (const int64_t gradient : {int64_t{0}, int64_t{-1}, int64_t{1} << 30, -(int64_t{1} << 31) + 5}) {
    for (const int64_t hessian : {int64_t{0}, int64_t{1}, (int64_t{1} << 32) - 1}) {
      const GradientSum sum{gradient, hessian};
      CHECK(Unpack(Pack(sum)) == sum);
      CHECK(Unpack(Pack(sum) - Pack({5, hessian})) == GradientSum{gradient - 5, 0});
    }
  }
}

template <typename Bin, typename Divide>
void CheckDivide(int most_bins, Divide divide) {
  for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{63}, int64_t{5000}}) {
    std::vector<Bin> column(10'000);
    for (std::size_t i = 0; i < column.size(); ++i) column[i] = static_cast<Bin>(HashOf(4, i) % most_bins);
    std::vector<uint8_t> left(most_bins);
    for (std::size_t i = 0; i < left.size(); ++i) left[i] = HashOf(5, i) % 3 == 0;
    std::vector<uint32_t> rows;
    for (int64_t i = 0; i < count; ++i) rows.push_back(static_cast<uint32_t>(2 * i));
    std::vector<uint32_t> expected = rows;
    const auto middle = std::stable_partition(expected.begin(), expected.end(),
                                              [&](uint32_t row) { return left[column[row]] == 1; });
    for (const Kernels* kernels : Runnable()) {
      std::vector<uint32_t> divided = rows, spare(count);
      CHECK((kernels->*divide)(column.data(), left.data(), divided.data(), spare.data(), count) ==
            middle - expected.begin());
      CHECK(divided == expected);
    }
  }
}

TEST_CASE("Kernels: rows are divided in the order they had", "[gbdt]") {
  CheckDivide<uint8_t>(256, &Kernels::divide8);
  CheckDivide<uint16_t>(3000, &Kernels::divide16);
}

TEST_CASE("Kernels: prefix sums are those of the bins", "[gbdt]") {
  for (const std::size_t count : {0u, 1u, 255u, 256u, 257u, 1000u}) {
    std::vector<PackedSum> bins;
    std::vector<double> gradient, hessian;
    GradientSum sum;
    for (std::size_t i = 0; i < count; ++i) {
      const GradientSum bin{static_cast<int64_t>(HashOf(6, i) % (1u << 22)) - (1 << 21),
                            static_cast<int64_t>(HashOf(7, i) % (1u << 22))};
      bins.push_back(Pack(bin));
      sum += bin;
      gradient.push_back(static_cast<double>(sum.gradient));
      hessian.push_back(static_cast<double>(sum.hessian));
    }
    for (const Kernels* kernels : Runnable()) {
      std::vector<double> found_gradient(count), found_hessian(count);
      kernels->prefix_packed(bins.data(), count, found_gradient.data(), found_hessian.data());
      CHECK(found_gradient == gradient);
      CHECK(found_hessian == hessian);
    }
  }
}

// The gain of one cut by its definition, from sums in plain numbers.
double GainByFormula(double gradient, double hessian, const Kernels::GainInputs& in, double* weight) {
  const double shrunk = std::fabs(gradient) <= in.alpha ? 0 : gradient - std::copysign(in.alpha, gradient);
  *weight = -shrunk / (hessian + in.lambda);
  if (std::fabs(*weight) > in.most_weight) *weight = std::copysign(in.most_weight, *weight);
  *weight = std::clamp(*weight, in.lower_bound, in.upper_bound);
  if (!in.at_weights) return shrunk * shrunk / (hessian + in.lambda);
  return -(2 * gradient * *weight + (hessian + in.lambda) * *weight * *weight);
}

TEST_CASE("Kernels: gains are the formula's, with the same bits everywhere", "[gbdt]") {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  struct Limits {
    bool at_weights;
    double most, lower, upper, direction;
  };
  const std::vector<Limits> all_limits = {{false, kNone, -kNone, kNone, 0}, {true, kNone, -kNone, kNone, 0},
                                          {true, 0.75, -kNone, kNone, 0},   {true, 0.75, -0.5, 0.25, 0},
                                          {true, kNone, -kNone, kNone, 1},  {true, 0.75, -kNone, 0.5, -1},
                                          {true, kNone, -0.25, kNone, 1}};
  std::vector<double> gradient, hessian;
  for (uint64_t i = 0; i < 1001; ++i) {
    gradient.push_back(static_cast<double>(HashOf(8, i) % 4001) - 2000);
    hessian.push_back(static_cast<double>(i * 8));  // from nothing to all; 200 / 8 = 25 on the border
  }
  const auto count = gradient.size();
  for (const double lambda : {0.0, 1.5}) {
    for (const double alpha : {0.0, 7.0}) {
      for (const double least : {0.0, 25.0}) {
        for (const Limits& limits : all_limits) {
          const Kernels::GainInputs in{0.25,
                                       0.125,
                                       100,
                                       8000,
                                       lambda,
                                       alpha,
                                       least,
                                       3.75,
                                       limits.at_weights,
                                       limits.most,
                                       limits.lower,
                                       limits.upper,
                                       limits.direction};
          std::vector<float> expected(count);
          Runnable()[0]->gains(gradient.data(), hessian.data(), count, in, expected.data());
          for (std::size_t i = 0; i < count; ++i) {
            const double gl = gradient[i] * 0.25, hl = hessian[i] * 0.125, gr = 25 - gl, hr = 1000 - hl;
            double left_weight = 0, right_weight = 0;
            const double formula =
                GainByFormula(gl, hl, in, &left_weight) + GainByFormula(gr, hr, in, &right_weight) - 3.75;
            const bool in_order =
                limits.direction == 0 ||
                (limits.direction > 0 ? left_weight <= right_weight : left_weight >= right_weight);
            const bool allowed = std::min(hl, hr) >= least && std::min(hl, hr) > 0 && in_order;
            CHECK(expected[i] == Approx(allowed ? formula : -1).epsilon(1e-6).margin(1e-6));
          }
          for (const Kernels* kernels : Runnable()) {
            std::vector<float> gain(count);
            const float most = kernels->gains(gradient.data(), hessian.data(), count, in, gain.data());
            INFO(kernels->name);
            CHECK(gain == expected);
            CHECK(std::max(most, 0.0f) ==
                  std::max(*std::max_element(expected.begin(), expected.end()), 0.0f));
            CHECK(kernels->gains(gradient.data(), hessian.data(), 0, in, gain.data()) < 0);
            CHECK(kernels->gains(gradient.data(), hessian.data(), 1, in, gain.data()) <
                  0);  // nothing on the left
          }
        }
      }
    }
  }
}

TEST_CASE("Kernels: the largest magnitude, of either sign", "[gbdt]") {
  std::vector<float> values = {-0.0f, 1e-45f, 3, -7.5f, 7.25f};
  const auto bits_of = [](float value) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
  };
  for (const Kernels* kernels : Runnable()) {
    CHECK(kernels->largest_bits(values.data(), 5) == bits_of(7.5f));
    CHECK(kernels->largest_bits(values.data(), 2) == bits_of(1e-45f));
    CHECK(kernels->largest_bits(values.data(), 1) == 0);
    CHECK(kernels->largest_bits(values.data(), 0) == 0);
  }
}

struct Quantised {
  std::vector<NarrowPair> pairs;
  GradientSum magnitudes;
  bool operator==(const Quantised&) const = default;
};

Quantised Quantise(const Kernels& kernels, const std::vector<float>& gradient,
                   const std::vector<float>& hessian, float scale, uint64_t first_row) {
  Quantised out;
  out.pairs.resize(gradient.size());
  kernels.quantise_narrow(gradient.data(), hessian.data(), static_cast<int64_t>(gradient.size()), scale, 0.5f,
                          99, first_row, out.pairs.data(), &out.magnitudes);
  return out;
}

TEST_CASE("Kernels: rounding depends on the row's number, not on sets of instructions or parts", "[gbdt]") {
  std::vector<float> gradient, hessian;
  for (uint64_t i = 0; i < 10'000; ++i) {
    gradient.push_back(static_cast<float>(HashOf(9, i) % 100'000) * 0.01f - 500);
    hessian.push_back(static_cast<float>(HashOf(10, i) % 100'000) * 0.5f);
  }
  for (const uint64_t first_row :
       {uint64_t{0}, uint64_t{12345}, (uint64_t{1} << 32) - 5000, uint64_t{1} << 40}) {
    const Quantised whole = Quantise(*Runnable()[0], gradient, hessian, 64, first_row);
    GradientSum magnitudes;
    for (NarrowPair pair : whole.pairs) magnitudes += {std::abs(Of(pair).gradient), Of(pair).hessian};
    CHECK(whole.magnitudes == magnitudes);
    for (const Kernels* kernels : Runnable()) {
      INFO(kernels->name << " from row " << first_row);
      CHECK(Quantise(*kernels, gradient, hessian, 64, first_row) == whole);
      for (const int64_t cut : {1, 4095, 4097, 5001}) {
        const Quantised tail = Quantise(*kernels, {gradient.begin() + cut, gradient.end()},
                                        {hessian.begin() + cut, hessian.end()}, 64, first_row + cut);
        CHECK(tail.pairs == std::vector<NarrowPair>(whole.pairs.begin() + cut, whole.pairs.end()));
      }
    }
  }
}

TEST_CASE("Kernels: rounding leaves whole numbers as they are", "[gbdt]") {
  std::vector<float> gradient, hessian;
  for (int i = 0; i < 32768; ++i) {
    gradient.push_back(static_cast<float>(i % 2 == 0 ? i : -i) * 0.25f);
    hessian.push_back(static_cast<float>(i) * 2);
  }
  int wrong = 0;
  for (uint64_t time = 0; time < 64; ++time) {  // as many draws for each number
    const Quantised rounded = Quantise(ChosenKernels(), gradient, hessian, 4, time * 32768);
    for (int i = 0; i < 32768; ++i) wrong += Of(rounded.pairs[i]) != GradientSum{i % 2 == 0 ? i : -i, i};
  }
  CHECK(wrong == 0);
}

TEST_CASE("Kernels: rounding keeps the mean and moves by less than one", "[gbdt]") {
  constexpr int64_t kRows = 1 << 20;
  for (const float value : {0.004f, 0.5f, 3.75f, 1000.25f, 20000.125f, 32766.75f}) {
    for (const float sign : {1.0f, -1.0f}) {
      const Quantised rounded = Quantise(ChosenKernels(), std::vector<float>(kRows, sign * value),
                                         std::vector<float>(kRows, 2 * value), 1, 0);
      int far = 0;
      for (NarrowPair pair : rounded.pairs)
        far += std::fabs(static_cast<float>(Of(pair).gradient) - sign * value) >= 1;
      CHECK(far == 0);
      // The mean of so many draws has a standard deviation of less than 0.0005.
      CHECK(static_cast<double>(rounded.magnitudes.gradient) / kRows ==
            Approx(value).margin(0.0025).epsilon(0));
      CHECK(static_cast<double>(rounded.magnitudes.hessian) / kRows ==
            Approx(value).margin(0.0025).epsilon(0));
    }
  }
}

TEST_CASE("Kernels: what rounds up to 2^15 is cut to what fits", "[gbdt]") {
  const Quantised rounded = Quantise(ChosenKernels(), std::vector<float>(100, -32767.99f),
                                     std::vector<float>(100, 65535.99f), 1, 0);
  CHECK(rounded.pairs == std::vector<NarrowPair>(100, (static_cast<uint32_t>(-32767) << 16) | 32767u));
}

TEST_CASE("Kernels: rows are drawn as RowDraw draws them", "[gbdt]") {
  for (const double fraction : {0.0, 0.3, 0.999, 1.0}) {
    const RowDraw draw(fraction, 5, 17);
    const uint64_t first = (uint64_t{1} << 33) - 700;
    std::vector<uint32_t> taken, left;
    for (uint32_t row = 0; row < 3001; ++row) (draw.Takes(first + row) ? taken : left).push_back(row);
    for (const Kernels* kernels : Runnable()) {
      std::vector<uint32_t> drawn(3001), others(3001);
      drawn.resize(
          kernels->draw_rows(draw.mixed_key(), draw.threshold(), first, 3001, drawn.data(), others.data()));
      others.resize(3001 - drawn.size());
      CHECK(drawn == taken);
      CHECK(others == left);
    }
  }
}

}  // namespace
}  // namespace winnow::gbdt
