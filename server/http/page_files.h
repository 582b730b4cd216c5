#pragma once

#include <string_view>
#include <vector>

#include "server/http/message.h"

namespace winnow {

// A file of the web page, as it stands in the program.
struct PageFile {
  std::string_view path;  // "assets/index-4f2a.js"
  std::string_view type;  // "text/javascript; charset=utf-8"
  std::string_view tag;   // of these bytes alone: hexadecimal
  std::string_view bytes;
  std::string_view gzip;  // the same compressed; "" where that gains nothing
};

// All of them; without a page built in (see dashboard/CMakeLists.txt) an index.html that says how to get it.
const std::vector<PageFile>& PageFiles();

// What GET or HEAD of a path gets: the file; index.html for any other path, since the page reads its paths by
// itself; 404 below /assets/. Names of assets say their content: they may be kept for ever; everything else
// is asked for anew each time, by its tag.
HttpAnswer AnswerPage(const std::vector<PageFile>& files, std::string_view path, const HttpRequest& request);

}  // namespace winnow
