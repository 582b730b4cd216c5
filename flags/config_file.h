#pragma once

#include <string>
#include <vector>

namespace winnow {

// A key of a configuration file.
struct ConfigEntry {
  std::string key;
  std::vector<std::string> values;  // as on the command line; several of an array
  int line = 0;                     // from 1
};

struct ConfigFile {
  std::vector<ConfigEntry> entries;  // in the order of the file
  std::string problem;               // "": none; else with the file's name and, if known, the line
};

// Reads a TOML file of keys without tables: texts, numbers, true and false, and arrays of them. It may hold
// commands that the program runs, so a file that everyone may write is a problem.
ConfigFile ReadConfigFile(const std::string& path);

}  // namespace winnow
