#include "trainers/mlp/model/teacher.h"

#include <vector>

#include "tests/catch.h"

namespace winnow::mlp {
namespace {

TEST_CASE("Rescaled: columns become what another scaling makes of the same raw values", "[mlp]") {
  const FeatureScaling from = {{10, 0}, {2, 1}}, to = {{8, 1}, {4, 0.5f}};
  const DenseData data = MakeDenseData(2, {0, 3, -1, 1}, {});  // raw 10, 3 and 8, 1
  const DenseData rescaled = Rescaled(data, from, to);
  CHECK(std::vector<float>(rescaled.values.begin(), rescaled.values.end()) ==
        std::vector<float>{0.5f, 4, 0, 0});
  CHECK(Rescaled(data, from, from).values.data() == data.values.data());
}

TEST_CASE("Rescaled: bytes stay, and what they mean changes", "[mlp]") {
  const std::vector<uint8_t> pixels = {0, 51, 255};
  DenseData data;
  data.rows = 1;
  data.features = 3;
  data.bytes = pixels;
  const FeatureScaling from = {{0.5f}, {0.25f}}, to = {{0.2f}, {0.1f}};
  data.byte_scale = 1 / (255 * from.deviation[0]);
  data.byte_shift = -from.mean[0] / from.deviation[0];
  const DenseData rescaled = Rescaled(data, from, to);
  CHECK(rescaled.bytes.data() == pixels.data());
  CHECK(0 * rescaled.byte_scale + rescaled.byte_shift == Approx(-2));
  CHECK(51 * rescaled.byte_scale + rescaled.byte_shift == Approx(0).margin(1e-6));
  CHECK(255 * rescaled.byte_scale + rescaled.byte_shift == Approx(8));
}

}  // namespace
}  // namespace winnow::mlp
