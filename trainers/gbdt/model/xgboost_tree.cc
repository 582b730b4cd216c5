#include "trainers/gbdt/model/xgboost_tree.h"

#include <fmt/format.h>

#include <numeric>

namespace winnow::gbdt {
namespace {

constexpr int32_t kNoParent = 2147483647;
constexpr int32_t kNoChild = -1;

// The lists of a document, checked for equal lengths.
struct Lists {
  std::vector<int32_t> left, right, feature, missing_left, categorical;
  std::vector<float> condition, gain, cover, weight;
  std::vector<std::vector<int32_t>> categories;  // [node]
};

template <typename T>
std::vector<T> ListAt(const Document& document, const char* name, std::size_t size) {
  std::vector<T> list = document.NumbersAt<T>(name);
  if (list.size() != size)
    throw MalformedDocument(fmt::format("{} of a tree of {} nodes has {} entries", name, size, list.size()));
  return list;
}

void ReadCategories(const Document& document, Lists* lists) {
  const auto nodes = document.NumbersAt<int32_t>("categories_nodes");
  const auto begins = ListAt<int64_t>(document, "categories_segments", nodes.size());
  const auto sizes = ListAt<int64_t>(document, "categories_sizes", nodes.size());
  const auto categories = document.NumbersAt<int32_t>("categories");
  const auto all = static_cast<int64_t>(categories.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] < 0 || static_cast<std::size_t>(nodes[i]) >= lists->left.size())
      throw MalformedDocument(fmt::format("categories of node {}, which is not there", nodes[i]));
    if (begins[i] < 0 || begins[i] > all || sizes[i] < 0 || sizes[i] > all - begins[i])
      throw MalformedDocument(fmt::format("the categories of node {} are not there", nodes[i]));
    std::vector<int32_t>& of_node = lists->categories[nodes[i]];
    of_node.assign(categories.begin() + begins[i], categories.begin() + begins[i] + sizes[i]);
    std::sort(of_node.begin(), of_node.end());
    if (!of_node.empty() && of_node[0] < 0)
      throw MalformedDocument(fmt::format("category {} is negative", of_node[0]));
  }
}

Lists ReadLists(const Document& document) {
  Lists lists;
  lists.left = document.NumbersAt<int32_t>("left_children");
  const std::size_t size = lists.left.size();
  if (size == 0) throw MalformedDocument("a tree without nodes");
  const Document& parameters = document.At("tree_param");
  if (parameters.Find("size_leaf_vector") != nullptr && parameters.WholeAt("size_leaf_vector") > 1)
    throw MalformedDocument("leaves that hold several values each (multi_output_tree) are not read");
  lists.right = ListAt<int32_t>(document, "right_children", size);
  lists.feature = ListAt<int32_t>(document, "split_indices", size);
  lists.missing_left = ListAt<int32_t>(document, "default_left", size);
  lists.condition = ListAt<float>(document, "split_conditions", size);
  lists.gain = ListAt<float>(document, "loss_changes", size);
  lists.cover = ListAt<float>(document, "sum_hessian", size);
  lists.weight = ListAt<float>(document, "base_weights", size);
  lists.categorical.assign(size, 0);
  lists.categories.resize(size);
  if (document.Find("split_type") != nullptr) {
    lists.categorical = ListAt<int32_t>(document, "split_type", size);
    ReadCategories(document, &lists);
  }
  return lists;
}

void CheckSplit(const Lists& lists, int32_t node, int64_t features) {
  const auto size = static_cast<int32_t>(lists.left.size());
  for (int32_t child : {lists.left[node], lists.right[node]}) {
    if (child < 1 || child >= size)
      throw MalformedDocument(fmt::format("node {} of a tree has child {}, which is not there", node, child));
  }
  if (lists.feature[node] < 0 || lists.feature[node] >= features)
    throw MalformedDocument(fmt::format("a tree asks for feature {} of {}", lists.feature[node], features));
}

// Returns the document's numbers of the reachable nodes, in an order that Tree allows.
std::vector<int32_t> Order(const Lists& lists, int64_t features) {
  const auto size = static_cast<int32_t>(lists.left.size());
  std::vector<int32_t> order = {0};
  std::vector<bool> seen(size, false);
  bool in_order = true;
  for (std::size_t next = 0; next < order.size(); ++next) {
    const int32_t node = order[next];
    if (seen[node]) throw MalformedDocument(fmt::format("node {} of a tree has two parents", node));
    seen[node] = true;
    if (lists.left[node] == kNoChild) continue;
    CheckSplit(lists, node, features);
    order.push_back(lists.left[node]);
    order.push_back(lists.right[node]);
    in_order = in_order && lists.left[node] > node && lists.right[node] == lists.left[node] + 1;
  }
  if (in_order && static_cast<int32_t>(order.size()) == size) std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

Document XgboostTree(const Tree& tree, int64_t id, int64_t features) {
  const std::size_t size = tree.nodes.size();
  std::vector<int32_t> left, right, feature, categories, categories_nodes, parents(size, kNoParent);
  std::vector<int64_t> categories_segments, categories_sizes;
  std::vector<uint8_t> missing_left, categorical;
  std::vector<float> condition, gain, cover, weight;
  for (auto* list : {&left, &right, &feature}) list->reserve(size);
  for (auto* list : {&condition, &gain, &cover, &weight}) list->reserve(size);
  for (std::size_t i = 0; i < size; ++i) {
    const Tree::Node& node = tree.nodes[i];
    const bool leaf = node.feature < 0;
    left.push_back(leaf ? kNoChild : node.left);
    right.push_back(leaf ? kNoChild : node.left + 1);
    if (!leaf) parents[node.left] = parents[node.left + 1] = static_cast<int32_t>(i);
    feature.push_back(leaf ? 0 : node.feature);
    missing_left.push_back(node.missing_left);
    categorical.push_back(node.categorical);
    condition.push_back(leaf ? node.value : node.threshold);
    gain.push_back(node.gain);
    cover.push_back(node.cover);
    weight.push_back(leaf ? node.value : node.weight);
    if (!node.categorical) continue;
    categories_nodes.push_back(static_cast<int32_t>(i));
    categories_segments.push_back(static_cast<int64_t>(categories.size()));
    categories_sizes.push_back(node.categories_count);
    const auto begin = tree.categories.begin() + node.categories_begin;
    categories.insert(categories.end(), begin, begin + node.categories_count);
  }
  return Document::Object()
      .With("base_weights", Document::Numbers(weight))
      .With("categories", Document::Numbers(categories))
      .With("categories_nodes", Document::Numbers(categories_nodes))
      .With("categories_segments", Document::Numbers(categories_segments))
      .With("categories_sizes", Document::Numbers(categories_sizes))
      .With("default_left", Document::Numbers(missing_left))
      .With("id", Document::Whole(id))
      .With("left_children", Document::Numbers(left))
      .With("loss_changes", Document::Numbers(gain))
      .With("parents", Document::Numbers(parents))
      .With("right_children", Document::Numbers(right))
      .With("split_conditions", Document::Numbers(condition))
      .With("split_indices", Document::Numbers(feature))
      .With("split_type", Document::Numbers(categorical))
      .With("sum_hessian", Document::Numbers(cover))
      .With("tree_param", Document::Object()
                              .With("num_deleted", Document::Text("0"))
                              .With("num_feature", Document::Text(std::to_string(features)))
                              .With("num_nodes", Document::Text(std::to_string(size)))
                              .With("size_leaf_vector", Document::Text("0")));
}

Tree ReadXgboostTree(const Document& document, int64_t features) {
  const Lists lists = ReadLists(document);
  const std::vector<int32_t> order = Order(lists, features);
  std::vector<int32_t> number(lists.left.size(), 0);  // numbers in the tree, by the document's nodes
  for (std::size_t i = 0; i < order.size(); ++i) number[order[i]] = static_cast<int32_t>(i);
  Tree tree;
  tree.nodes.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int32_t from = order[i];
    Tree::Node& node = tree.nodes[i];
    node.gain = lists.gain[from];
    node.cover = lists.cover[from];
    if (lists.left[from] == kNoChild) {
      node.value = lists.condition[from];
      continue;
    }
    node.feature = lists.feature[from];
    node.left = number[lists.left[from]];
    node.missing_left = lists.missing_left[from] != 0;
    node.weight = lists.weight[from];
    node.categorical = lists.categorical[from] != 0;
    if (!node.categorical) {
      node.threshold = lists.condition[from];
      continue;
    }
    const std::vector<int32_t>& categories = lists.categories[from];
    if (categories.empty()) throw MalformedDocument("a categorical split without categories");
    node.categories_begin = static_cast<int32_t>(tree.categories.size());
    node.categories_count = static_cast<int32_t>(categories.size());
    tree.categories.insert(tree.categories.end(), categories.begin(), categories.end());
  }
  return tree;
}

}  // namespace winnow::gbdt
