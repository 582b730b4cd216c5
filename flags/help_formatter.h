#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace winnow {

// Readable help: wrapped at the terminal's width (100 columns elsewhere), with each value's range and default
// in words after its description. REQUIRES: set before subcommands and options are defined.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  explicit HelpFormatter(size_t width);

  std::string make_description(const CLI::App* app) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_footer(const CLI::App* app) const override;
  std::string make_subcommand(const CLI::App* sub) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;

 private:
  std::string Row(const std::string& left, const std::string& right) const;

  const size_t width_;
};

}  // namespace winnow
