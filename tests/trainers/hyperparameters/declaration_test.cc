#include "trainers/hyperparameters/declaration.h"

#include "tests/catch.h"
#include "trainers/gbdt/hyperparameters/hyperparameters.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow {
namespace {

TEST_CASE("Declaration: every name is there once, and second names mean first names", "[hyperparameters]") {
  for (const Declaration* trainer : {&gbdt::GbdtDeclaration(), &mlp::MlpDeclaration()}) {
    const std::vector<std::string> names = trainer->Names();
    CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
    for (const std::string& name : names) {
      INFO(trainer->program << " " << name);
      CHECK(trainer->Find(name) != nullptr);
    }
  }
}

TEST_CASE("Declaration: lists of winnow-gbdt that are nested deeply are an error", "[hyperparameters]") {
  constexpr size_t kDeep = 200'000;
  for (const std::string name : {"monotone_constraints", "interaction_constraints"}) {
    const std::string list = std::string(kDeep, '[') + std::string(kDeep, ']');
    std::vector<std::string> warnings;
    const auto read = gbdt::ParseHyperparameters("{\"" + name + "\": \"" + list + "\"}", &warnings);
    CHECK(absl::IsInvalidArgument(read.status()));
  }
}

TEST_CASE("Declaration: every default is legal", "[hyperparameters]") {
  for (const Declaration* trainer : {&gbdt::GbdtDeclaration(), &mlp::MlpDeclaration()}) {
    for (const Hyperparameter* known : trainer->hyperparameters) {
      const std::string value = trainer->DefaultOf(known->name);
      INFO(trainer->program << " " << known->name << " = " << value);
      CHECK((value.empty() || Read(*known, value)));
    }
    CHECK(trainer->contradictions({}).empty());
  }
}

TEST_CASE("Declaration: a dash in a name counts as an underscore", "[hyperparameters]") {
  CHECK(mlp::MlpDeclaration().Find("mini-batch_size") == mlp::MlpDeclaration().Find("batch_size"));
  CHECK(gbdt::GbdtDeclaration().FirstName("learning-rate") == "eta");
  CHECK(gbdt::GbdtDeclaration().Find("learning rate") == nullptr);
}

TEST_CASE("Declaration: a rule says nothing where a hyperparameter that it reads is open",
          "[hyperparameters]") {
  const auto found = [](Given given) { return mlp::MlpDeclaration().contradictions(given); };
  const std::vector<Contradiction> fixed = found({{{"batch_size", "8"}, {"virtual_shards", "9"}}, {}});
  REQUIRE(fixed.size() == 1);
  CHECK(fixed[0].name == "virtual_shards");
  CHECK(fixed[0].value == "9");
  CHECK(fixed[0].expected == "at most batch_size = 8");
  CHECK(found({{{"virtual_shards", "9"}}, {"batch_size"}}).empty());
}

}  // namespace
}  // namespace winnow
