#pragma once

#include <optional>
#include <string>
#include <utility>

namespace winnow {

// The training data of a parent of trainers (ServeForks), which each child that needs the same data has from
// its start. One of each type and process. Not thread-safe: only for the first thread.
template <typename Data>
class PreparedData {
 public:
  // From now on Keep keeps.
  static void Begin() { keeps_ = true; }
  static void Keep(const std::string& key, const Data& data) {
    if (keeps_) kept_.emplace(key, data);
  }
  // Null: none are kept under that key.
  static const Data* Find(const std::string& key) {
    return kept_ && kept_->first == key ? &kept_->second : nullptr;
  }

 private:
  static inline bool keeps_ = false;
  static inline std::optional<std::pair<std::string, Data>> kept_;
};

}  // namespace winnow
