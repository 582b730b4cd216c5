#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace winnow::cli {

// Patterns that leave files out, as in a .gitignore: the last one that matches counts. "*", "?" and "[...]"
// match within a name, "**" any folders; a "/" at the beginning or in the middle ties a pattern to the root,
// one at the end makes it match folders alone; "!" takes a file in again; "#" begins a comment.
class IgnoreRules {
 public:
  // Adds the patterns of a file's lines.
  void AddLines(std::string_view text);
  void Add(std::string_view line);

  // Whether the file or folder at `path`, relative with '/', is left out. A folder that is left out is left
  // out with all its content, which the caller does not ask about.
  bool LeavesOut(std::string_view path, bool is_folder) const;

 private:
  struct Rule {
    std::vector<std::string> parts;  // "**": any number of names
    bool folders_only = false;
    bool takes_in = false;
  };
  std::vector<Rule> rules_;
};

}  // namespace winnow::cli
