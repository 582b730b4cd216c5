#include "trainers/gbdt/model/xgboost_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status_text.h"
#include "trainers/gbdt/model/xgboost_tree.h"

namespace winnow::gbdt {
namespace {

// Properties that XGBoost's model files cannot represent.
struct ModelExtras {
  std::map<std::string, std::string> hyperparameters;
  bool base_score_estimated = false;
  DataOptions reading;
  DataSchema schema;
  int64_t best_round = -1;

  // Whether the schema has as many features as the model.
  bool Fit(const Model& model) const;
};

constexpr int64_t kVersion = 2;

Document ReadingDocument(const DataOptions& reading) {
  return Document::Object()
      .With("label", Document::Text(reading.label))
      .With("drop", Document::Texts(reading.drop))
      .With("weight", Document::Text(reading.weight))
      .With("group", Document::Text(reading.group))
      .With("format", Document::Text(reading.format))
      .With("header", Document::Text(reading.header))
      .With("separator", Document::Text(reading.separator))
      .With("max_levels", Document::Whole(reading.max_levels))
      .With("categorical", Document::Whole(reading.categorical));
}

Document SchemaDocument(const DataSchema& schema) {
  Document columns = Document::Array({});
  for (const ColumnSchema& column : schema.columns) {
    // A column of numbers is its name alone: there may be millions.
    columns.Add(column.text ? Document::Object()
                                  .With("name", Document::Text(column.name))
                                  .With("text", Document::Whole(1))
                                  .With("levels", Document::Texts(column.levels))
                                  .With("categorical", Document::Whole(column.categorical))
                            : Document::Text(column.name));
  }
  return Document::Object()
      .With("columns", std::move(columns))
      .With("label_levels", Document::Texts(schema.label_levels));
}

Document HyperparametersDocument(const std::map<std::string, std::string>& values) {
  Document object = Document::Object();
  for (const auto& [name, value] : values) object.members.emplace(name, Document::Text(value));
  return object;
}

// 0 where it is absent.
bool IsSet(const Document& document, const char* name) {
  return document.Find(name) != nullptr && document.WholeAt(name) != 0;
}

bool ModelExtras::Fit(const Model& model) const {
  std::size_t features = 0;
  for (const ColumnSchema& column : schema.columns)
    features += column.text && !column.categorical ? column.levels.size() : 1;
  return features == model.feature_names.size();
}

// Returns hyperparameters as the JSON object that ParseHyperparameters reads.
std::string HyperparametersText(const std::map<std::string, std::string>& values) {
  return JsonText(HyperparametersDocument(values));
}

std::string ExtrasText(const Model& model) {
  std::string text =
      JsonText(Document::Object()
                   .With("version", Document::Whole(kVersion))
                   .With("best_round", Document::Whole(model.best_round))
                   .With("hyperparameters", HyperparametersDocument(ModelHyperparameters(model.parameters)))
                   .With("reading", ReadingDocument(model.reading))
                   .With("schema", SchemaDocument(model.schema)));
  text.pop_back();  // the end of line
  return text;
}

DataOptions ReadReading(const Document& document) {
  DataOptions reading;
  reading.label = document.TextAt("label");
  reading.drop = document.TextsAt("drop");
  reading.weight = document.TextAt("weight");
  if (document.Find("group") != nullptr) reading.group = document.TextAt("group");
  reading.format = document.TextAt("format");
  reading.header = document.TextAt("header");
  reading.separator = document.TextAt("separator");
  reading.max_levels = static_cast<int>(std::clamp<int64_t>(document.WholeAt("max_levels"), 0, 1 << 30));
  reading.categorical = IsSet(document, "categorical");
  return reading;
}

DataSchema ReadSchema(const Document& document) {
  DataSchema schema;
  // Where all columns are of numbers, they are texts and nothing else.
  const Document& columns = document.At("columns");
  for (const std::string& name : columns.texts) schema.columns.push_back({name, false, {}, false});
  for (const Document& column : columns.texts.empty() ? document.ItemsAt("columns") : columns.items) {
    if (column.kind == Document::Kind::kText)
      schema.columns.push_back({column.text, false, {}, false});
    else
      schema.columns.push_back({column.TextAt("name"), IsSet(column, "text"), column.TextsAt("levels"),
                                IsSet(column, "categorical")});
  }
  schema.label_levels = document.TextsAt("label_levels");
  return schema;
}

// Reads what ExtrasText wrote; throws MalformedDocument.
ModelExtras ReadExtras(const std::string& text) {
  const Document document = ParseJsonDocument(text);
  if (const int64_t version = document.WholeAt("version"); version != kVersion)
    throw MalformedDocument(
        fmt::format("attribute winnow: version {}: this program reads version {}", version, kVersion));
  ModelExtras extras;
  for (const auto& [name, value] : document.At("hyperparameters").members)
    extras.hyperparameters[name] = document.At("hyperparameters").TextAt(name);
  extras.base_score_estimated = extras.hyperparameters["base_score"] == "estimated";
  extras.reading = ReadReading(document.At("reading"));
  extras.schema = ReadSchema(document.At("schema"));
  extras.best_round = document.WholeAt("best_round");
  if (extras.best_round < -1) throw MalformedDocument(fmt::format("best_round {}", extras.best_round));
  return extras;
}

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

// Reads the names of categories, which XGBoost 3.1 and later take from data frames and keep beside the trees;
// the trees contain numbers. Makes these features text columns, so that their names are read from data files;
// because such columns have sorted levels, categories get new numbers. gbtree_model: the document's
// gradient_booster.model. REQUIRES: the model's schema has a column for each feature. Throws
// MalformedDocument.
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

using Values = std::map<std::string, std::string>;

constexpr std::string_view kPositionPrefix = "column_";  // prefix of unnamed columns, as data files are read

// The place of an objective's hyperparameters in the document.
struct ObjectiveBlock {
  std::string_view objective;
  const char* block;
  const char* hyperparameter;
};
constexpr ObjectiveBlock kBlocks[] = {
    {"binary:logistic", "reg_loss_param", "scale_pos_weight"},
    {"binary:logitraw", "reg_loss_param", "scale_pos_weight"},
    {"reg:logistic", "reg_loss_param", "scale_pos_weight"},
    {"reg:squarederror", "reg_loss_param", "scale_pos_weight"},
    {"reg:squaredlogerror", "reg_loss_param", "scale_pos_weight"},
    {"reg:pseudohubererror", "pseudo_huber_param", "huber_slope"},
    {"reg:quantileerror", "quantile_loss_param", "quantile_alpha"},
    {"reg:tweedie", "tweedie_regression_param", "tweedie_variance_power"},
    {"count:poisson", "poisson_regression_param", "max_delta_step"},
    {"multi:softmax", "softmax_multiclass_param", "num_class"},
    {"multi:softprob", "softmax_multiclass_param", "num_class"},
};

Document ObjectiveDocument(const Values& values) {
  const std::string& name = values.at("objective");
  Document objective = Document::Object().With("name", Document::Text(name));
  for (const ObjectiveBlock& known : kBlocks) {
    if (name != known.objective) continue;
    const auto value = values.find(known.hyperparameter);
    if (value != values.end())
      objective.members[known.block] =
          Document::Object().With(known.hyperparameter, Document::Text(value->second));
  }
  if (name.starts_with("rank:"))  // read, but not used by predictions: XGBoost's defaults
    objective.members["lambda_rank_param"] = Document::Object()
                                                 .With("fix_list_weight", Document::Text("0"))
                                                 .With("num_pairsample", Document::Text("1"));
  return objective;
}

std::string FloatText(float value) {
  char text[32];
  return std::string(text, std::to_chars(text, std::end(text), value).ptr);
}

// "c" for categorical features, "float" for others.
Document FeatureTypes(const Model& model) {
  std::vector<bool> categorical;
  for (const ColumnSchema& column : model.schema.columns)
    categorical.insert(categorical.end(), column.text && !column.categorical ? column.levels.size() : 1,
                       column.categorical);
  categorical.resize(model.feature_names.size());
  for (const Tree& tree : model.trees) {
    for (const Tree::Node& node : tree.nodes) {
      if (node.categorical) categorical[node.feature] = true;
    }
  }
  std::vector<std::string> types;
  for (bool is : categorical) types.emplace_back(is ? "c" : "float");
  return Document::Texts(std::move(types));
}

// Whether the features have their own names, not their columns' positions in data without a header or
// XGBoost's f0, f1, ….
bool IsNamed(const std::vector<std::string>& names) {
  bool by_position = true, by_number = true;
  for (std::size_t i = 0; i < names.size(); ++i) {
    by_position = by_position && names[i].starts_with(kPositionPrefix) &&
                  names[i].find_first_not_of("0123456789", kPositionPrefix.size()) == std::string::npos;
    by_number = by_number && names[i] == fmt::format("f{}", i);
  }
  return !by_position && !by_number;
}

constexpr std::string_view kRefusedInNames = "[]<";

// The names as XGBoost's DMatrix takes them: it refuses "[", "]" and "<", and a name that comes twice. Each
// of these becomes "_", and a name that is taken then gets a number.
std::vector<std::string> NamesForXgboost(const std::vector<std::string>& names) {
  const auto is_taken = [](const std::string& name) {
    return name.find_first_of(kRefusedInNames) == std::string::npos;
  };
  if (std::all_of(names.begin(), names.end(), is_taken)) return names;
  std::set<std::string> used;
  std::copy_if(names.begin(), names.end(), std::inserter(used, used.end()), is_taken);
  std::vector<std::string> accepted;
  for (const std::string& name : names) {
    accepted.push_back(name);
    if (is_taken(name)) continue;
    std::string& changed = accepted.back();
    for (char& c : changed) c = kRefusedInNames.find(c) == std::string_view::npos ? c : '_';
    const std::string stem = changed;
    for (int number = 2; !used.insert(changed).second; ++number) changed = fmt::format("{}_{}", stem, number);
  }
  return accepted;
}

// The names of the features that the columns become, as readers of data make them.
std::vector<std::string> FeatureNamesOf(const DataSchema& schema) {
  std::vector<std::string> names;
  for (const ColumnSchema& column : schema.columns) {
    if (!column.text || column.categorical) {
      names.push_back(column.name);
      continue;
    }
    for (const std::string& level : column.levels) names.push_back(column.name + "_" + level);
  }
  return names;
}

Document GradientBooster(const Model& model) {
  const auto features = static_cast<int64_t>(model.feature_names.size());
  std::vector<Document> trees;
  std::vector<int64_t> classes;
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    trees.push_back(XgboostTree(model.trees[t], static_cast<int64_t>(t), features));
    classes.push_back(model.class_of(static_cast<int64_t>(t)));
  }
  Document parameters =
      Document::Object()
          .With("num_parallel_tree", Document::Text(std::to_string(model.parameters.num_parallel_tree)))
          .With("num_trees", Document::Text(std::to_string(trees.size())))
          .With("size_leaf_vector", Document::Text("0"));
  Document gbtree = Document::Object()
                        .With("model", Document::Object()
                                           .With("gbtree_model_param", std::move(parameters))
                                           .With("tree_info", Document::Numbers(classes, false))
                                           .With("trees", Document::Array(std::move(trees))))
                        .With("name", Document::Text("gbtree"));
  if (model.parameters.booster != BoosterKind::kDart) return gbtree;
  std::vector<float> weights = model.tree_weights;
  weights.resize(model.trees.size(), 1);
  return Document::Object()
      .With("gbtree", std::move(gbtree))
      .With("name", Document::Text("dart"))
      .With("weight_drop", Document::Numbers(weights, false));
}

// XGBoost writes the base score as a number's text, from 3.1 on as a list with one per class.
std::vector<float> ReadBaseScores(const std::string& text) {
  std::vector<float> scores;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    while (at != end && (*at == '[' || *at == ',' || *at == ' ' || *at == ']')) ++at;
    if (at == end) break;
    const auto [stop, error] = std::from_chars(at, end, scores.emplace_back());
    if (error != std::errc()) throw MalformedDocument(fmt::format("base_score {}: expected a number", text));
    at = stop;
  }
  if (scores.empty()) throw MalformedDocument("base_score: expected a number");
  return scores;
}

// XGBoost 3.4 and later keep DART's tree weights in the model, and call the booster gbtree.
bool IsDart(const Document& booster) {
  return booster.TextAt("name") == "dart" ||
         (booster.Find("model") != nullptr && booster.At("model").Find("weight_drop") != nullptr);
}

std::vector<float> ReadTreeWeights(const Document& booster, const Document& gbtree, std::size_t trees) {
  const bool beside = booster.Find("weight_drop") != nullptr;
  std::vector<float> weights = (beside ? booster : gbtree.At("model")).NumbersAt<float>("weight_drop");
  if (weights.size() > trees || (beside && weights.size() < trees))
    throw MalformedDocument(fmt::format("weight_drop: {} weights of {} trees", weights.size(), trees));
  weights.resize(trees, 1);
  return weights;
}

// Overlays `values`, the hyperparameters of `extras`, by those in XGBoost's own part of the document.
Values ReadHyperparameters(const Document& learner, float base_score, int64_t parallel, Values values) {
  const Document& objective = learner.At("objective");
  std::string name = objective.TextAt("name");
  if (name == "reg:linear") name = "reg:squarederror";  // its name before XGBoost 0.83
  const bool same_objective = values["objective"] == name;
  if (!same_objective) values.erase("eval_metric");
  values["objective"] = name;
  for (const ObjectiveBlock& known : kBlocks) {
    const Document* block =
        name == known.objective && !same_objective ? objective.Find(known.block) : nullptr;
    if (block == nullptr || block->Find(known.hyperparameter) == nullptr) continue;
    std::string value = block->TextAt(known.hyperparameter);
    if (value.starts_with('[') && value.ends_with(']')) value = value.substr(1, value.size() - 2);
    values[known.hyperparameter] = value;
  }
  const Document& parameters = learner.At("learner_model_param");
  const int64_t classes = parameters.WholeAt("num_class");
  if (name.starts_with("multi:") || !same_objective)
    values["num_class"] = std::to_string(name.starts_with("multi:") ? classes : 0);
  values["num_parallel_tree"] = std::to_string(parallel);
  values["booster"] = IsDart(learner.At("gradient_booster")) ? "dart" : "gbtree";
  const auto ours = values.find("base_score");
  const bool same_score = ours != values.end() && ours->second != "estimated" &&
                          static_cast<float>(std::strtod(ours->second.c_str(), nullptr)) == base_score;
  if (!same_score) values["base_score"] = FloatText(base_score);
  return values;
}

// In XGBoost 3.1 and later, classes may start from different margins; here the first tree of each class gets
// the difference to the first class's.
void AddToLeaves(const std::vector<float>& base_scores, Model* model) {
  for (std::size_t k = 1; k < base_scores.size(); ++k) {
    const float beyond = base_scores[k] - base_scores[0];
    if (beyond == 0) continue;
    const std::size_t t = k * model->parameters.num_parallel_tree;
    if (!model->parameters.multi() || t >= model->trees.size() || base_scores.size() > model->trees.size())
      throw UnsupportedModel("a base_score for each output is read of multi-class models with trees only");
    const float weight = model->tree_weights.empty() ? 1 : model->tree_weights[t];
    for (Tree::Node& node : model->trees[t].nodes) node.value += node.feature < 0 ? beyond / weight : 0;
  }
}

void ReadTrees(const Document& gbtree, int64_t features, Model* model) {
  const Document& trees = gbtree.At("model");
  for (const Document& tree : trees.ItemsAt("trees")) {
    try {
      model->trees.push_back(ReadXgboostTree(tree, features));
    } catch (const MalformedDocument& error) {
      throw MalformedDocument(fmt::format("tree {}: {}", model->trees.size(), error.what()));
    }
  }
  const auto size = static_cast<int64_t>(model->trees.size());
  if (size % model->trees_per_round() != 0)
    throw MalformedDocument(
        fmt::format("{} trees: expected {} for each round", size, model->trees_per_round()));
  const auto classes = trees.NumbersAt<int32_t>("tree_info");
  for (int64_t t = 0; t < size; ++t) {
    if (static_cast<int64_t>(classes.size()) != size || classes[t] != model->class_of(t))
      throw MalformedDocument("tree_info: expected the classes in turn, round after round");
  }
}

void ReadFeatures(const Document& learner, Model* model) {
  const int64_t features = learner.At("learner_model_param").WholeAt("num_feature");
  if (features < 0 || features > std::numeric_limits<int32_t>::max())
    throw MalformedDocument(fmt::format("num_feature {}: expected fewer than 2^31", features));
  if (learner.Find("feature_names") != nullptr) model->feature_names = learner.TextsAt("feature_names");
  const bool named = !model->feature_names.empty();
  if (named && static_cast<int64_t>(model->feature_names.size()) != features)
    throw MalformedDocument(
        fmt::format("{} feature_names of {} features", model->feature_names.size(), features));
  // Names and types show that there are so many features. Without them, this bounds the memory for a damaged
  // number.
  constexpr int64_t kMostUnlisted = 1 << 22;
  const Document* const types = learner.Find("feature_types");
  const bool listed = named || (types != nullptr && static_cast<int64_t>(types->texts.size()) == features);
  if (features > kMostUnlisted && !listed)
    throw UnsupportedModel(fmt::format("{} features without names", features));
  for (int64_t f = 0; f < features && !named; ++f) model->feature_names.push_back(fmt::format("f{}", f));
  // Unnamed columns are matched by position; the reader uses these names for them.
  for (int64_t f = 0; f < features; ++f)
    model->schema.columns.push_back(
        {named ? model->feature_names[f] : fmt::format("{}{}", kPositionPrefix, f), false, {}, false});
}

}  // namespace

Document XgboostModel(const Model& model) {
  const Values values = ModelHyperparameters(model.parameters);
  Document attributes = Document::Object().With("winnow", Document::Text(ExtrasText(model)));
  if (model.rounds() > 0) {
    const int64_t used = model.used_rounds();
    attributes.members["best_iteration"] = Document::Text(std::to_string(used - 1));
    attributes.members["best_ntree_limit"] =
        Document::Text(std::to_string(used * model.parameters.num_parallel_tree));
  }
  std::vector<std::string> names;
  if (IsNamed(model.feature_names)) names = NamesForXgboost(model.feature_names);
  Document parameters =
      Document::Object()
          .With("base_score", Document::Text(FloatText(static_cast<float>(model.parameters.base_score))))
          .With("boost_from_average", Document::Text("0"))
          .With("num_class",
                Document::Text(model.parameters.multi() ? std::to_string(model.parameters.num_class) : "0"))
          .With("num_feature", Document::Text(std::to_string(model.feature_names.size())))
          .With("num_target", Document::Text("1"));
  Document learner = Document::Object()
                         .With("attributes", std::move(attributes))
                         .With("feature_names", Document::Texts(std::move(names)))
                         .With("feature_types", FeatureTypes(model))
                         .With("gradient_booster", GradientBooster(model))
                         .With("learner_model_param", std::move(parameters))
                         .With("objective", ObjectiveDocument(values));
  return Document::Object()
      .With("learner", std::move(learner))
      .With("version", Document::Numbers(std::vector<int64_t>{1, 7, 4}, false));
}

Model ReadXgboostModel(const Document& document) {
  const Document& learner = document.At("learner");
  const Document& booster = learner.At("gradient_booster");
  const std::string& name = booster.TextAt("name");
  if (name != "gbtree" && name != "dart")
    throw UnsupportedModel(fmt::format("booster {}: only models of trees are read (gbtree, dart)", name));
  const Document& gbtree = name == "dart" ? booster.At("gbtree") : booster;
  const Document& parameters = learner.At("learner_model_param");
  if (parameters.Find("num_target") != nullptr && parameters.WholeAt("num_target") > 1)
    throw UnsupportedModel("several targets for each row: models of one target are read");

  Model model;
  const Document& attributes = learner.At("attributes");
  ModelExtras extras;
  if (attributes.Find("winnow") != nullptr) extras = ReadExtras(attributes.TextAt("winnow"));
  const std::vector<float> base_scores = ReadBaseScores(parameters.TextAt("base_score"));
  const Document& tree_parameters = gbtree.At("model").At("gbtree_model_param");
  const bool forest = tree_parameters.Find("num_parallel_tree") != nullptr;  // not in the oldest models
  const int64_t parallel = forest ? std::max<int64_t>(1, tree_parameters.WholeAt("num_parallel_tree")) : 1;
  const Values values = ReadHyperparameters(learner, base_scores[0], parallel, extras.hyperparameters);
  std::vector<std::string> ignored;  // warnings, which training has printed
  absl::StatusOr<GbdtParameters> understood = ParseHyperparameters(HyperparametersText(values), &ignored);
  if (!understood.ok()) throw UnsupportedModel(MessageOf(understood.status()));
  model.parameters = *std::move(understood);
  if (extras.base_score_estimated) {
    model.parameters.base_score_given = false;
    model.parameters.base_score = base_scores[0];
  }

  ReadFeatures(learner, &model);
  ReadTrees(gbtree, static_cast<int64_t>(model.feature_names.size()), &model);
  if (IsDart(booster)) model.tree_weights = ReadTreeWeights(booster, gbtree, model.trees.size());
  AddToLeaves(base_scores, &model);
  if (extras.Fit(model)) {
    model.reading = extras.reading;
    model.schema = extras.schema;
    if (std::vector<std::string> own = FeatureNamesOf(model.schema);
        NamesForXgboost(own) == model.feature_names)
      model.feature_names = std::move(own);
  } else {
    ReadCategoryNames(gbtree.At("model"), &model);
  }
  const int64_t last = model.rounds() - 1;
  const int64_t best =
      attributes.Find("best_iteration") != nullptr ? attributes.WholeAt("best_iteration") : last;
  const bool same_best = (extras.best_round < 0 ? last : extras.best_round) == best;
  model.best_round = same_best && extras.best_round <= last ? extras.best_round
                     : best < 0 || best >= last             ? -1
                                                            : best;
  return model;
}

}  // namespace winnow::gbdt
