#include "trainers/gbdt/model/model.h"

#include <algorithm>

#include "trainers/gbdt/model/model_forest.h"
#include "trainers/gbdt/objective/objective.h"

namespace winnow::gbdt {
namespace {

constexpr int64_t kRowsOfTask = 16 * Forest::kBlockRows;

}  // namespace

std::vector<float> PredictMargins(const Model& model, const DataSet& data, int64_t rounds, ThreadPool* pool) {
  const int classes = model.parameters.classes();
  std::vector<float> margins(static_cast<std::size_t>(data.rows) * classes, BaseMargin(model.parameters));
  const Forest forest(model, rounds);
  ForRows(data.rows, kRowsOfTask, pool, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; block += Forest::kBlockRows)
      forest.AddMargins(data.columns, block, std::min(end, block + Forest::kBlockRows), data.rows,
                        margins.data());
  });
  return margins;
}

std::vector<int32_t> PredictLeaves(const Model& model, const DataSet& data, int64_t rounds,
                                   ThreadPool* pool) {
  const int64_t trees = rounds * model.trees_per_round();
  std::vector<int32_t> leaves(static_cast<std::size_t>(trees * data.rows));
  ForRows(data.rows, kRowsOfTask, pool, [&](int64_t begin, int64_t end) {
    for (int64_t t = 0; t < trees; ++t) {
      for (int64_t i = begin; i < end; ++i) leaves[t * data.rows + i] = model.trees[t].Leaf(data.columns, i);
    }
  });
  return leaves;
}

void ForRows(int64_t rows, int64_t piece, ThreadPool* pool,
             const std::function<void(int64_t begin, int64_t end)>& work) {
  const auto tasks = static_cast<int>((rows + piece - 1) / piece);
  const auto task = [&](int t, int) { work(t * piece, std::min(rows, (t + 1) * piece)); };
  if (pool != nullptr) {
    pool->Run(tasks, task);
  } else {
    for (int t = 0; t < tasks; ++t) task(t, 0);
  }
}

}  // namespace winnow::gbdt
