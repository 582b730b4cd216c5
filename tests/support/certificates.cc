#include "tests/support/certificates.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace winnow {
namespace {

constexpr char kNewKey[] = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

void Openssl(const std::string& folder, const std::string& arguments) {
  const std::string command =
      fmt::format("cd '{}' && {{ openssl {}; }} >openssl.log 2>&1", folder, arguments);
  if (std::system(command.c_str()) != 0) throw std::runtime_error("this failed: " + command);
}

}  // namespace

Certificates::Certificates(std::string folder) : folder_(std::move(folder)) {
  std::filesystem::create_directories(folder_);
  Openssl(folder_,
          fmt::format("req -x509 {} -days 2 -subj '/CN=test authority' -keyout ca.key -out ca.pem", kNewKey));
}

void Certificates::Request(const std::string& name) const {
  Openssl(folder_, fmt::format("req -new {0} -subj /CN={1} -addext subjectAltName=DNS:localhost,IP:127.0.0.1 "
                               "-keyout {1}.key -out {1}.csr",
                               kNewKey, name));
}

void Certificates::MakeEarly(const std::string& name) const {
  Request(name);
  std::ofstream(folder_ + "/ca.cnf") << "[ca]\ndefault_ca=own\n[own]\ndatabase=issued\nserial=serial\n"
                                        "new_certs_dir=.\ndefault_md=sha256\npolicy=any\n"
                                        "[any]\ncommonName=supplied\n";
  std::ofstream(folder_ + "/issued") << "";
  std::ofstream(folder_ + "/serial") << "01\n";
  Openssl(folder_, fmt::format("ca -batch -notext -config ca.cnf -cert ca.pem -keyfile ca.key "
                               "-startdate 20990101000000Z -enddate 20990201000000Z -in {0}.csr -out {0}.pem",
                               name));
}

void Certificates::Make(const std::string& name, int days) const {
  Request(name);
  // Written atomically, so that a server sees the old one or the new.
  Openssl(folder_, fmt::format("x509 -req -in {0}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days {1} "
                               "-copy_extensions copy -out {0}.part && mv {0}.part {0}.pem",
                               name, days));
}

void Certificates::Replace(const std::string& name, const Certificates& others) const {
  const auto replace = [](const std::string& from, const std::string& to) {
    std::filesystem::copy_file(from, to + ".new");
    std::filesystem::rename(to + ".new", to);
  };
  replace(others.key(name), key(name));
  replace(others.cert(name), cert(name));
}

}  // namespace winnow
