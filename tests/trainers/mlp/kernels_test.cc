#include "trainers/mlp/network/kernels.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/hash.h"
#include "tests/catch.h"
#include "trainers/mlp/network/network.h"
#include "trainers/mlp/network/row_math.h"

namespace winnow::mlp {
namespace {

float Draw(uint64_t number) { return static_cast<float>(HashOf(5, number) >> 40) * 0x1p-23f - 1.0f; }

// What one call of all four products gives, on numbers drawn from a hash.
struct Products {
  std::vector<float> f32, bf16;
  std::vector<int32_t> gradient, gradient_bf16;
};

struct Shape {
  int rows, depth, panels;
};

constexpr float kCountScale = 1 << 20;

struct Inputs {
  explicit Inputs(const Shape& of)
      : shape(of),
        even_rows(of.rows + of.rows % 2),
        even_depth(of.depth + of.depth % 2),
        x(static_cast<std::size_t>(even_rows) * even_depth),
        w(static_cast<std::size_t>(of.panels) * of.depth * kPanel),
        d(static_cast<std::size_t>(even_rows) * of.panels * kPanel),
        bias(static_cast<std::size_t>(of.panels) * kPanel) {
    uint64_t n = 0;
    for (int r = 0; r < of.rows; ++r) {
      for (int k = 0; k < of.depth; ++k) x[static_cast<std::size_t>(r) * even_depth + k] = Draw(++n);
      for (int c = 0; c < of.panels * kPanel; ++c)
        d[static_cast<std::size_t>(r) * of.panels * kPanel + c] = Draw(++n) * kCountScale;
    }
    for (float& value : w) value = Draw(++n);
    for (float& value : bias) value = Draw(++n);
  }

  Shape shape;
  int even_rows, even_depth;
  std::vector<float> x, w, d, bias;
};

// Shards of even sizes, as batches have them.
std::vector<int> Begins(int rows) {
  if (rows < 8) return {0, rows};
  return {0, 2, rows / 4 * 2, rows};
}

Products Run(const Kernels& kernels, const Inputs& in) {
  const auto [rows, depth, panels] = in.shape;
  const std::size_t columns = static_cast<std::size_t>(panels) * kPanel;
  Products out;
  out.f32.resize(rows * columns);
  out.bf16.resize(rows * columns);
  kernels.product(in.x.data(), in.even_depth, rows, depth, in.w.data(), panels, in.bias.data(),
                  out.f32.data(), columns);
  std::vector<uint32_t> x_pairs(in.x.size() / 2), w_pairs(columns * in.even_depth / 2);
  PackBf16(in.x.data(), in.x.size(), x_pairs.data());
  for (int p = 0; p < panels; ++p) {
    for (int k = 0; k < depth; k += 2) {
      const float* lower = in.w.data() + (static_cast<std::size_t>(p) * depth + k) * kPanel;
      PackBf16Pairs(lower, k + 1 < depth ? lower + kPanel : nullptr, 1.0f, kPanel,
                    w_pairs.data() + (static_cast<std::size_t>(p) * in.even_depth / 2 + k / 2) * kPanel);
    }
  }
  kernels.product_bf16(x_pairs.data(), in.even_depth / 2, rows, in.even_depth / 2, w_pairs.data(), panels,
                       in.bias.data(), out.bf16.data(), columns);
  const std::vector<int> begins = Begins(rows);
  const int shards = static_cast<int>(begins.size()) - 1;
  out.gradient.resize(columns * depth);
  out.gradient_bf16.resize(columns * depth);
  kernels.weight_gradient(in.x.data(), in.even_depth, in.d.data(), columns, begins.data(), shards, depth,
                          panels, out.gradient.data(), static_cast<std::size_t>(depth) * kPanel);
  std::vector<uint32_t> x_rows(in.x.size() / 2), d_rows(in.d.size() / 2);
  for (int r = 0; r < rows; r += 2) {
    const bool paired = r + 1 < rows;
    const float* x = in.x.data() + static_cast<std::size_t>(r) * in.even_depth;
    const float* d = in.d.data() + r * columns;
    PackBf16Pairs(x, paired ? x + in.even_depth : nullptr, 1.0f, in.even_depth,
                  x_rows.data() + r / 2 * in.even_depth);
    PackBf16Pairs(d, paired ? d + columns : nullptr, 1.0f, columns, d_rows.data() + r / 2 * columns);
  }
  kernels.weight_gradient_bf16(x_rows.data(), in.even_depth, d_rows.data(), columns, begins.data(), shards,
                               depth, panels, out.gradient_bf16.data(),
                               static_cast<std::size_t>(depth) * kPanel);
  return out;
}

const std::vector<Shape> kShapes = {{1, 1, 1},   {2, 3, 1},   {13, 17, 2},
                                    {14, 56, 3}, {29, 33, 5}, {128, 100, 8}};

TEST_CASE("Kernels: products and gradients are those of double arithmetic, to rounding", "[mlp]") {
  int count = 0;
  const Kernels* const* const runnable = RunnableKernels(&count);
  for (int which = 0; which < count; ++which) {
    for (const Shape& shape : kShapes) {
      CAPTURE(runnable[which]->name, shape.rows, shape.depth, shape.panels);
      const Inputs in(shape);
      const Products out = Run(*runnable[which], in);
      const int columns = shape.panels * kPanel;
      double worst = 0, worst_bf16 = 0, worst_count = 0, worst_count_bf16 = 0;
      for (int c = 0; c < columns; ++c) {
        const auto weight = [&](int k) {
          return static_cast<double>(
              in.w[(static_cast<std::size_t>(c / kPanel) * shape.depth + k) * kPanel + c % kPanel]);
        };
        for (int r = 0; r < shape.rows; ++r) {
          double sum = in.bias[c];
          for (int k = 0; k < shape.depth; ++k)
            sum += in.x[static_cast<std::size_t>(r) * in.even_depth + k] * weight(k);
          worst = std::max(worst, std::fabs(out.f32[r * columns + c] - sum));
          worst_bf16 = std::max(worst_bf16, std::fabs(out.bf16[r * columns + c] - sum));
        }
        for (int k = 0; k < shape.depth; ++k) {
          double sum = 0;
          for (int r = 0; r < shape.rows; ++r)
            sum += static_cast<double>(in.x[static_cast<std::size_t>(r) * in.even_depth + k]) *
                   in.d[r * columns + c];
          const std::size_t at =
              (static_cast<std::size_t>(c / kPanel) * shape.depth + k) * kPanel + c % kPanel;
          worst_count = std::max(worst_count, std::fabs(out.gradient[at] - sum) / kCountScale);
          worst_count_bf16 = std::max(worst_count_bf16, std::fabs(out.gradient_bf16[at] - sum) / kCountScale);
        }
      }
      CHECK(worst < 1e-5);
      CHECK(worst_count < 1e-5);
      CHECK(worst_bf16 < 0.01 * std::sqrt(shape.depth));
      CHECK(worst_count_bf16 < 0.01 * std::sqrt(shape.rows));
    }
  }
}

TEST_CASE("Kernels: all that fuse have the same f32 bits, and rows have them however they are cut", "[mlp]") {
  int count = 0;
  const Kernels* const* const runnable = RunnableKernels(&count);
  for (const Shape& shape : kShapes) {
    const Inputs in(shape);
    const Products widest = Run(*runnable[count - 1], in);
    for (int which = 0; which < count; ++which) {
      if (runnable[which]->fused != runnable[count - 1]->fused) continue;
      CAPTURE(runnable[which]->name, shape.rows, shape.depth, shape.panels);
      const Products other = Run(*runnable[which], in);
      CHECK(other.f32 == widest.f32);
      CHECK(other.gradient == widest.gradient);
      const std::size_t columns = static_cast<std::size_t>(shape.panels) * kPanel;
      std::vector<float> alone(columns);
      for (int r = 0; r < shape.rows; ++r) {
        runnable[which]->product(in.x.data() + static_cast<std::size_t>(r) * in.even_depth, in.even_depth, 1,
                                 shape.depth, in.w.data(), shape.panels, in.bias.data(), alone.data(),
                                 columns);
        CHECK(std::memcmp(alone.data(), widest.f32.data() + r * columns, columns * sizeof(float)) == 0);
      }
    }
  }
}

TEST_CASE("RowMath: dropout keeps its share, scaled, and is a function of its key", "[mlp]") {
  constexpr std::size_t kUnits = 20000;
  std::vector<float> values(kUnits, 1.0f), again(kUnits, 1.0f), other(kUnits, 1.0f);
  Drop({DropoutKey(1, 2, 3, 4), 0.25f}, kUnits, values.data());
  Drop({DropoutKey(1, 2, 3, 4), 0.25f}, kUnits, again.data());
  Drop({DropoutKey(1, 2, 3, 5), 0.25f}, kUnits, other.data());
  CHECK(values == again);
  CHECK(values != other);
  double sum = 0;
  for (const float value : values) {
    CHECK((value == 0.0f || value == 1.0f / 0.75f));
    sum += value;
  }
  CHECK(sum / kUnits == Approx(1.0).margin(0.02));
}

TEST_CASE("RowMath: activations and their slopes are the mathematical ones", "[mlp]") {
  const std::vector<float> z = {-6, -2, -0.5f, -0.01f, 0.01f, 0.29f, 0.31f, 1, 3, 8, 0, 0, 0, 0, 0, 0};
  const auto exact = [](Activation kind, double x) {
    switch (kind) {
      case Activation::kRelu:
        return x > 0 ? x : 0;
      case Activation::kLeakyRelu:
        return x > 0 ? x : 0.1 * x;
      case Activation::kGelu:
        return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
      default:
        return std::tanh(x);
    }
  };
  for (const Activation kind :
       {Activation::kRelu, Activation::kLeakyRelu, Activation::kGelu, Activation::kTanh}) {
    std::vector<float> a(z.size()), slope(z.size(), 1.0f);
    Activate(kind, 0.1f, z.data(), z.size(), a.data());
    ActivationGradient(kind, 0.1f, z.data(), a.data(), z.size(), slope.data());
    for (std::size_t i = 0; i < 10; ++i) {
      CAPTURE(static_cast<int>(kind), z[i]);
      constexpr double kStep = 1e-5;
      CHECK(a[i] == Approx(exact(kind, z[i])).margin(1e-6));
      CHECK(slope[i] ==
            Approx((exact(kind, z[i] + kStep) - exact(kind, z[i] - kStep)) / (2 * kStep)).margin(2e-6));
    }
  }
}

TEST_CASE("RowMath: a block of panels is transposed, and what is missing is 0", "[mlp]") {
  std::vector<float> from(kPanel * kPanel), to(kPanel * kPanel, -1.0f);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
  TransposeBlock(from.data(), 11, to.data());
  for (int i = 0; i < kPanel; ++i) {
    for (int j = 0; j < kPanel; ++j) CHECK(to[j * kPanel + i] == (i < 11 ? from[i * kPanel + j] : 0.0f));
  }
}

}  // namespace
}  // namespace winnow::mlp
