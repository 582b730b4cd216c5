#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow {

// The JSON in a file, which may have comments. INVALID_ARGUMENT names the file.
absl::StatusOr<nlohmann::json> ReadJsonFile(const std::string& file);

// INVALID_ARGUMENT: the file has these problems, a line each. OK: there are none.
absl::Status ProblemsOf(const std::string& file, const std::vector<std::string>& problems);

// Reads the fields of an object of a file that configures the server. Each error names the field by its path
// and says what was expected; a field with an error has its default. Not thread-safe.
class Fields {
 public:
  // `path`: of the object, "pools[2].slurm"; `problems` outlives this. A value that is no object is an error.
  Fields(const nlohmann::json& object, std::string path, std::vector<std::string>& problems);

  bool Has(const char* name) const;
  int64_t Int(const char* name, int64_t otherwise, int64_t least, int64_t most);
  double Real(const char* name, double otherwise, double least, double most);
  bool Bool(const char* name, bool otherwise);
  std::string Text(const char* name, const std::string& otherwise = "");
  std::vector<std::string> Texts(const char* name);
  std::map<std::string, std::string> TextMap(const char* name);
  // The object of that name; an empty one if it is absent. Its own Fields reads it.
  nlohmann::json Object(const char* name);
  // Reports the fields that nobody has asked for.
  void Done();

  void Problem(const char* name, const std::string& problem);
  std::string PathOf(const char* name) const;

 private:
  const nlohmann::json* Find(const char* name);  // null: absent

  const nlohmann::json& object_;
  const std::string path_;
  std::vector<std::string>& problems_;
  std::set<std::string> asked_;
};

}  // namespace winnow
