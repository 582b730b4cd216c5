#include "trainers/gbdt/model/xgboost_categories.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace winnow::gbdt {
namespace {

// Returns the names of a feature's categories by number; empty if it is not categorical.
std::vector<std::string> NamesOf(const Document& feature) {
  std::vector<std::string> names;
  const auto values = feature.NumbersAt<float>("values");
  if (feature.Find("offsets") == nullptr) {  // the categories are numbers
    for (float value : values) names.push_back(fmt::format("{}", value));
    return names;
  }
  const auto offsets = feature.NumbersAt<int32_t>("offsets");
  std::string bytes;
  for (float value : values) bytes.push_back(static_cast<char>(static_cast<int>(value)));
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    const int32_t begin = offsets[i - 1], end = offsets[i];
    if (begin < 0 || begin > end || static_cast<std::size_t>(end) > bytes.size())
      throw MalformedDocument("cats: the names of categories are not there");
    names.push_back(bytes.substr(begin, end - begin));
  }
  return names;
}

// Sorts the names; returns the new number of each.
std::vector<int32_t> Sort(std::vector<std::string>* names) {
  std::vector<int32_t> order(names->size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return (*names)[a] < (*names)[b]; });
  std::vector<int32_t> number(names->size());
  for (std::size_t i = 0; i < order.size(); ++i) number[order[i]] = static_cast<int32_t>(i);
  std::sort(names->begin(), names->end());
  return number;
}

}  // namespace

void ReadCategoryNames(const Document& gbtree_model, Model* model) {
  const Document* cats = gbtree_model.Find("cats");
  if (cats == nullptr || cats->Find("enc") == nullptr) return;
  const std::vector<Document>& features = cats->ItemsAt("enc");
  if (features.size() > model->feature_names.size())
    throw MalformedDocument(fmt::format("cats: {} features", features.size()));
  std::vector<std::vector<int32_t>> numbers(model->feature_names.size());
  for (std::size_t f = 0; f < features.size(); ++f) {
    std::vector<std::string> names = NamesOf(features[f]);
    if (names.empty()) continue;
    numbers[f] = Sort(&names);
    model->schema.columns[f] = {model->schema.columns[f].name, true, std::move(names), true};
  }
  for (Tree& tree : model->trees) {
    for (const Tree::Node& node : tree.nodes) {
      if (!node.categorical || numbers[node.feature].empty()) continue;
      const std::vector<int32_t>& number = numbers[node.feature];
      const auto begin = tree.categories.begin() + node.categories_begin, end = begin + node.categories_count;
      for (auto category = begin; category != end; ++category) {
        if (static_cast<std::size_t>(*category) >= number.size())
          throw MalformedDocument(fmt::format("category {} of {}", *category, number.size()));
        *category = number[*category];
      }
      std::sort(begin, end);
    }
  }
}

}  // namespace winnow::gbdt
