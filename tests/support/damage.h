#pragma once

#include <cstdint>
#include <string>

namespace winnow {

// Fills a page (from 0) of a database file with garbage. REQUIRES: pages of 4096 bytes.
void DamagePage(const std::string& file, int64_t page);

// Returns the page (from 0) at which a table begins.
int64_t RootPage(const std::string& file, const std::string& table);

}  // namespace winnow
