#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace winnow {

// Digests that AWS's protocols use, as bytes.
std::string Sha256Bytes(std::string_view text);
std::string Md5Bytes(std::string_view text);
std::string Sha1Bytes(std::string_view text);
std::string HmacSha256(std::string_view key, std::string_view text);
std::string HmacSha1(std::string_view key, std::string_view text);
// CRC-32 as in gzip, its four bytes from the highest.
std::string Crc32Bytes(std::string_view text);
// CRC-32C and CRC-64/NVME, likewise.
std::string Crc32cBytes(std::string_view text);
std::string Crc64NvmeBytes(std::string_view text);

// Compares in constant time.
bool SameBytes(std::string_view one, std::string_view other);

// `bytes` random bytes in hexadecimal. REQUIRES: the system gives random bytes.
std::string RandomHex(int bytes);

}  // namespace winnow
