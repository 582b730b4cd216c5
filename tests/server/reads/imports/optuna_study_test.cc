#include "server/reads/imports/optuna_study.h"

#include <fstream>

#include "store/database/database.h"
#include "tests/catch.h"
#include "tests/store/temp_folder.h"

namespace winnow {
namespace {

// The columns that are read, as Optuna 3 makes them.
constexpr char kTables[] = R"sql(
CREATE TABLE studies (study_id INTEGER PRIMARY KEY, study_name VARCHAR(512) NOT NULL);
CREATE TABLE study_directions (study_direction_id INTEGER PRIMARY KEY, direction VARCHAR(8), study_id INTEGER, objective INTEGER);
CREATE TABLE trials (trial_id INTEGER PRIMARY KEY, number INTEGER, study_id INTEGER, state VARCHAR(8));
CREATE TABLE trial_params (param_id INTEGER PRIMARY KEY, trial_id INTEGER, param_name VARCHAR(512), param_value FLOAT, distribution_json TEXT);
CREATE TABLE trial_values (trial_value_id INTEGER PRIMARY KEY, trial_id INTEGER, objective INTEGER, value FLOAT, value_type VARCHAR(7));
CREATE TABLE trial_intermediate_values (id INTEGER PRIMARY KEY, trial_id INTEGER, step INTEGER, intermediate_value FLOAT);
INSERT INTO studies VALUES (1, 'one');
INSERT INTO study_directions VALUES (1, 'MAXIMIZE', 1, 0);
)sql";

absl::StatusOr<OptunaStudy> ReadStudyFile(
    const std::string& file, const std::string& study = "",
    const GoOn& go_on = [] { return absl::OkStatus(); }) {
  const absl::StatusOr<ForeignFile> opened = ForeignFile::Open(file);
  if (!opened.ok()) return opened.status();
  return ReadOptunaStudy(*opened, study, go_on);
}

struct File {
  explicit File(const std::string& more) {
    auto database = Database::Open(name(), OpenMode::kReadWrite);
    absl::Status status = (*database)->Execute(kTables + more);
    INFO(status.ToString());
    REQUIRE(status.ok());
  }
  std::string name() const { return folder.file("study.db"); }
  TempFolder folder;
};

std::string Problem(const std::string& more, const std::string& study = "") {
  File file(more);
  auto read = ReadStudyFile(file.name(), study);
  CHECK(read.status().code() == absl::StatusCode::kInvalidArgument);
  return std::string(read.status().message());
}

TEST_CASE("Optuna study: trials with their parameters, values and levels", "[store]") {
  File file(R"sql(
    INSERT INTO trials VALUES (11, 1, 1, 'PRUNED'), (10, 0, 1, 'COMPLETE'), (12, 2, 1, 'RUNNING');
    INSERT INTO trial_values VALUES (1, 10, 0, 0.75, 'FINITE'), (2, 11, 0, 0.5, 'FINITE');
    INSERT INTO trial_intermediate_values VALUES (1, 10, 0, 0.1), (2, 10, 26, 0.75), (3, 11, 8, 0.5);
    INSERT INTO trial_params VALUES
      (1, 10, 'lr', 0.125, '{"name":"LogUniformDistribution","attributes":{"low":0.1,"high":1}}'),
      (2, 10, 'depth', 7.0, '{"name":"IntUniformDistribution","attributes":{"low":1,"high":9,"step":1}}'),
      (3, 10, 'kind', 1.0, '{"name":"CategoricalDistribution","attributes":{"choices":["a",true,null,3]}}'),
      (4, 11, 'kind', 3.0, '{"name":"CategoricalDistribution","attributes":{"choices":["a",true,null,3]}}');
  )sql");
  auto study = ReadStudyFile(file.name());
  INFO(study.status().ToString());
  REQUIRE(study.ok());
  CHECK(study->name == "one");
  CHECK(study->goal == Goal::kMaximize);
  REQUIRE(study->trials.size() == 3);
  const OptunaTrial& first = study->trials[0];
  CHECK(first.value == 0.75);
  CHECK(first.resource == 27);  // its steps are counted from 0
  CHECK(first.parameters ==
        std::map<std::string, Value>{{"lr", 0.125}, {"depth", int64_t{7}}, {"kind", std::string("true")}});
  CHECK(study->trials[1].pruned);
  CHECK(study->trials[1].resource == 9);
  CHECK(study->trials[1].parameters.at("kind") == Value(int64_t{3}));
  CHECK_FALSE(study->trials[2].finished);
  CHECK_FALSE(study->trials[2].value);
}

TEST_CASE("Optuna study: steps that begin at 1 are levels as they are", "[store]") {
  File file(R"sql(
    INSERT INTO trials VALUES (10, 0, 1, 'COMPLETE');
    INSERT INTO trial_intermediate_values VALUES (1, 10, 1, 0.1), (2, 10, 27, 0.75);
  )sql");
  CHECK(ReadStudyFile(file.name(), "one")->trials[0].resource == 27);
}

TEST_CASE("Optuna study: a file with several wants a name", "[store]") {
  const std::string second =
      "INSERT INTO studies VALUES (2, 'two'); INSERT INTO study_directions VALUES (2, 'MINIMIZE', 2, 0)";
  CHECK_THAT(Problem(second), Catch::Contains("2 studies") && !Catch::Contains("two"));
  CHECK_THAT(Problem(second, "three"), Catch::Contains("\"three\"") && !Catch::Contains("two"));
  File file(second);
  CHECK(ReadStudyFile(file.name(), "two")->goal == Goal::kMinimize);
}

TEST_CASE("Optuna study: what cannot be used is said", "[store]") {
  CHECK_THAT(Problem("DELETE FROM studies"), Catch::Contains("no study"));
  CHECK_THAT(Problem("INSERT INTO study_directions VALUES (2, 'MINIMIZE', 1, 1)"),
             Catch::Contains("2 objectives"));
  CHECK_THAT(Problem("UPDATE study_directions SET direction = 'NOT_SET'"),
             Catch::Contains("direction is unknown") && !Catch::Contains("NOT_SET"));
  CHECK_THAT(Problem("ALTER TABLE trials RENAME COLUMN number TO n"), Catch::Contains("trials.number"));
  CHECK_THAT(Problem("INSERT INTO trials VALUES (1, 4, 1, 'COMPLETE');"
                     "INSERT INTO trial_params VALUES (1, 1, 'x', 2.0,"
                     " '{\"name\":\"CategoricalDistribution\",\"attributes\":{\"choices\":[1]}}')"),
             Catch::Contains("trial 4") && !Catch::Contains("Categorical"));
}

TEST_CASE("Optuna study: a choice that is nested without end is refused", "[store]") {
  constexpr size_t kDepth = 200'000;
  CHECK_THAT(Problem("INSERT INTO trials VALUES (10, 0, 1, 'COMPLETE');"
                     "INSERT INTO trial_params VALUES (1, 10, 'x', 0.0,"
                     " '{\"name\":\"CategoricalDistribution\",\"attributes\":{\"choices\":[" +
                     std::string(kDepth, '[') + std::string(kDepth, ']') + "]}}')"),
             Catch::Contains("trial 0: a parameter's value does not match its distribution"));
}

TEST_CASE("Optuna study: a view, a table of a module and computed columns are not read", "[store]") {
  const std::string view =
      "ALTER TABLE trials RENAME TO others;"
      "CREATE VIEW trials AS WITH RECURSIVE c(trial_id, number, study_id, state) AS"
      " (SELECT 1, 1, 1, 'COMPLETE' UNION ALL SELECT trial_id + 1, 1, 1, 'COMPLETE' FROM c) SELECT * FROM c";
  CHECK_THAT(Problem(view), Catch::Contains("no table trials"));
  CHECK_THAT(
      Problem("DROP TABLE trials; CREATE VIRTUAL TABLE trials USING fts5(trial_id, number, study_id, state)"),
      Catch::Contains("no table trials"));
  CHECK_THAT(Problem("ALTER TABLE trials ADD COLUMN much AS (zeroblob(1000000000))"),
             Catch::Contains("computes columns"));
}

TEST_CASE("Optuna study: who asks can end the reading, also inside of a statement", "[store]") {
  File file(
      "INSERT INTO trials WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 90000)"
      " SELECT x, x, 1, 'COMPLETE' FROM c");
  const auto ended =
      ReadStudyFile(file.name(), "", [] { return absl::DeadlineExceededError("takes too long"); });
  CHECK(ended.status().code() == absl::StatusCode::kDeadlineExceeded);
  CHECK(ReadStudyFile(file.name())->trials.size() == 90'000);
}

TEST_CASE("Optuna study: what is read is what was opened, whatever its name leads to by then", "[store]") {
  File file("INSERT INTO trials VALUES (10, 0, 1, 'COMPLETE')");
  const absl::StatusOr<ForeignFile> opened = ForeignFile::Open(file.name());
  REQUIRE(opened.ok());
  std::filesystem::rename(file.name(), file.folder.file("other.db"));
  std::ofstream(file.name()) << "another file";
  const auto study = ReadOptunaStudy(*opened, "", [] { return absl::OkStatus(); });
  REQUIRE(study.ok());
  CHECK(study->trials.size() == 1);
}

TEST_CASE("Optuna study: one that is being changed is refused", "[store]") {
  File file("");
  auto writer = Database::Open(file.name(), OpenMode::kReadWrite);
  REQUIRE((*writer)->Execute("INSERT INTO trials VALUES (10, 0, 1, 'COMPLETE')").ok());
  CHECK_THAT(std::string(ReadStudyFile(file.name()).status().message()), Catch::Contains("is being changed"));
}

TEST_CASE("Optuna study: other files are refused and left as they are", "[store]") {
  TempFolder folder;
  CHECK_THAT(std::string(ReadStudyFile(folder.file("none.db")).status().message()),
             Catch::Contains("does not exist"));
  std::ofstream(folder.file("text.db")) << std::string(4096, 'x');
  CHECK_THAT(std::string(ReadStudyFile(folder.file("text.db")).status().message()),
             Catch::Contains("not a SQLite file"));
  CHECK_FALSE(std::ifstream(folder.file("none.db")).good());
}

}  // namespace
}  // namespace winnow
