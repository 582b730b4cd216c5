#include "trainers/mlp/network/dead_units.h"

#include <algorithm>

namespace winnow::mlp {

DeadUnits::DeadUnits(const Network& network) : alive_(network.layers.size()) {}

void DeadUnits::Look(LayerStack& stack, int64_t rows) {
  for (int l = stack.first(); l + 1 < stack.last(); ++l) {
    const Matrix& activated = stack.inputs(l + 1);
    std::vector<uint8_t>& alive = alive_[static_cast<std::size_t>(l)];
    alive.resize(static_cast<std::size_t>(activated.width));
    for (int64_t r = 0; r < rows; ++r) {
      const float* row = activated.row(r);
      for (std::size_t unit = 0; unit < alive.size(); ++unit) alive[unit] |= row[unit] > 0;
    }
  }
}

double DeadUnits::Share() const {
  std::size_t dead = 0, all = 0;
  for (const std::vector<uint8_t>& alive : alive_) {
    dead += static_cast<std::size_t>(std::count(alive.begin(), alive.end(), 0));
    all += alive.size();
  }
  return all == 0 ? 0 : static_cast<double>(dead) / static_cast<double>(all);
}

void DeadUnits::Forget() {
  for (std::vector<uint8_t>& alive : alive_) std::fill(alive.begin(), alive.end(), uint8_t{0});
}

}  // namespace winnow::mlp
