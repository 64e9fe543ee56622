#include "adapters/pki/certificate.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <arpa/inet.h>

#include <array>
#include <ctime>
#include <memory>
#include <span>

#include "base/text.h"

namespace faultline {
namespace {

template <auto Function>
struct Deleter {
  template <class T>
  void operator()(T* pointer) const {
    Function(pointer);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Bio = std::unique_ptr<BIO, Deleter<BIO_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;
using Number = std::unique_ptr<BIGNUM, Deleter<BN_free>>;
using Trust = std::unique_ptr<X509_STORE, Deleter<X509_STORE_free>>;
using Verification = std::unique_ptr<X509_STORE_CTX, Deleter<X509_STORE_CTX_free>>;
using GeneralNames = std::unique_ptr<GENERAL_NAMES, Deleter<GENERAL_NAMES_free>>;

constexpr int serial_bytes = 16;
constexpr long x509_version_3 = 2;
constexpr std::size_t chain_length_max = 64;  // certificates of one file; more are not looked at

/// What OpenSSL says went wrong, and its queue emptied.
Error openssl_error(std::string_view doing) {
  std::array<char, 256> text{};
  const auto code = ERR_get_error();
  if (code != 0) ERR_error_string_n(code, text.data(), text.size());
  ERR_clear_error();
  return {ErrorCode::internal,
          std::string(doing) + ": " + (code != 0 ? text.data() : "OpenSSL gives no reason")};
}

std::string bio_text(BIO* bio) {
  char* data = nullptr;
  const long length = BIO_get_mem_data(bio, &data);
  return length > 0 ? std::string(data, static_cast<std::size_t>(length)) : std::string();
}

Bio bio_of(std::string_view text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Result<KeyPair> to_pem(X509* certificate, EVP_PKEY* key) {
  const Bio certificate_bio(BIO_new(BIO_s_mem()));
  const Bio key_bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(certificate_bio.get(), certificate) != 1 ||
      PEM_write_bio_PrivateKey(key_bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return openssl_error("writing a certificate");
  }
  return KeyPair{bio_text(certificate_bio.get()), bio_text(key_bio.get())};
}

Certificate read_certificate(std::string_view pem) {
  // Never asks for a passphrase: a certificate has none, and a prompt would hang a service.
  return Certificate(PEM_read_bio_X509(bio_of(pem).get(), nullptr, nullptr, const_cast<char*>("")));
}

/// All certificates of a PEM text, in its order.
std::vector<Certificate> read_certificates(std::string_view pem) {
  const Bio bio = bio_of(pem);
  std::vector<Certificate> all;
  while (all.size() < chain_length_max) {
    Certificate next(PEM_read_bio_X509(bio.get(), nullptr, nullptr, const_cast<char*>("")));
    if (!next) break;
    all.push_back(std::move(next));
  }
  ERR_clear_error();  // the end of the text is one
  return all;
}

Key read_key(std::string_view pem) {
  return Key(PEM_read_bio_PrivateKey(bio_of(pem).get(), nullptr, nullptr, const_cast<char*>("")));
}

bool add_extension(X509* certificate, X509* issuer, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool set_random_serial(X509* certificate) {
  std::array<unsigned char, serial_bytes> bytes{};
  if (RAND_bytes(bytes.data(), serial_bytes) != 1) return false;
  bytes[0] &= 0x7F;  // positive
  bytes[0] |= 0x01;  // and of full length
  const Number number(BN_bin2bn(bytes.data(), serial_bytes, nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

std::time_t seconds_of(Instant at) {
  return std::chrono::system_clock::to_time_t(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(at));
}

bool set_times(X509* certificate, Instant not_before, Instant not_after) {
  return ASN1_TIME_set(X509_getm_notBefore(certificate), seconds_of(not_before)) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), seconds_of(not_after)) != nullptr;
}

bool set_common_name(X509* certificate, std::string_view name) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(name.data()),
                                    static_cast<int>(name.size()), -1, 0) == 1;
}

/// Everything but issuer, extensions and signature.
Certificate blank_certificate(std::string_view name, EVP_PKEY* key, Instant not_before,
                              Instant not_after) {
  Certificate certificate(X509_new());
  if (!certificate || X509_set_version(certificate.get(), x509_version_3) != 1 ||
      !set_random_serial(certificate.get()) ||
      !set_times(certificate.get(), not_before, not_after) ||
      !set_common_name(certificate.get(), name) || X509_set_pubkey(certificate.get(), key) != 1) {
    return nullptr;
  }
  return certificate;
}

/// The alternative names as OpenSSL's configuration syntax has them. The caller has checked that no
/// name holds a comma.
std::string alternative_names(const CertificateRequest& request) {
  std::vector<std::string> names{"DNS:" + request.name};
  for (const auto& name : request.dns_names) names.push_back("DNS:" + name);
  for (const auto& address : request.addresses) names.push_back("IP:" + address);
  names.push_back("URI:" + role_uri(request.role));
  return join(names, ",");
}

Instant instant_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return std::chrono::time_point_cast<Duration>(
      std::chrono::system_clock::from_time_t(timegm(&parts)));
}

std::string text_of(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::string address_text(const ASN1_OCTET_STRING* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = ASN1_STRING_length(address) == 4 ? AF_INET : AF_INET6;
  if (family == AF_INET6 && ASN1_STRING_length(address) != 16) return "?";
  return inet_ntop(family, ASN1_STRING_get0_data(address), text.data(), text.size()) != nullptr
             ? text.data()
             : "?";
}

std::vector<std::string> names_of(const X509* certificate) {
  std::vector<std::string> texts;
  const GeneralNames names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) texts.push_back("DNS:" + printable(text_of(name->d.dNSName), 256));
    if (name->type == GEN_IPADD) texts.push_back("IP:" + address_text(name->d.iPAddress));
    if (name->type == GEN_URI)
      texts.push_back("URI:" + printable(text_of(name->d.uniformResourceIdentifier), 256));
  }
  return texts;
}

std::vector<std::string> usages_of(X509* certificate) {
  std::vector<std::string> usages;
  const auto extended =
      X509_get_extended_key_usage(certificate);  // all bits set if there is no such extension
  if (extended != UINT32_MAX && (extended & XKU_SSL_CLIENT) != 0) usages.emplace_back("clientAuth");
  if (extended != UINT32_MAX && (extended & XKU_SSL_SERVER) != 0) usages.emplace_back("serverAuth");
  const auto usage = X509_get_key_usage(certificate);
  if (usage != UINT32_MAX && (usage & KU_KEY_CERT_SIGN) != 0) usages.emplace_back("certSign");
  return usages;
}

std::string name_text(const X509_NAME* name) {
  const Bio bio(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253);
  return printable(bio_text(bio.get()), 512);
}

std::string hexadecimal(std::span<const unsigned char> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string serial_text(const X509* certificate) {
  const Number number(ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr));
  if (!number) return "?";
  std::vector<unsigned char> bytes(static_cast<std::size_t>(BN_num_bytes(number.get())));
  BN_bn2bin(number.get(), bytes.data());
  return hexadecimal(bytes);
}

std::string common_name(const X509* certificate) {
  const X509_NAME* subject = X509_get_subject_name(certificate);
  const int index = X509_NAME_get_index_by_NID(const_cast<X509_NAME*>(subject), NID_commonName, -1);
  if (index < 0) return "";
  return printable(text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, index))), 256);
}

}  // namespace

Result<KeyPair> make_authority(std::string_view name, Instant not_before, Instant not_after) {
  const Key key(EVP_EC_gen("P-256"));
  if (!key) return openssl_error("making a key");
  const Certificate certificate = blank_certificate(name, key.get(), not_before, not_after);
  if (!certificate) return openssl_error("making a certificate");
  X509* self = certificate.get();
  X509_set_issuer_name(self, X509_get_subject_name(self));
  if (!add_extension(self, self, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !add_extension(self, self, NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !add_extension(self, self, NID_subject_key_identifier, "hash") ||
      X509_sign(self, key.get(), EVP_sha256()) == 0) {
    return openssl_error("signing the authority");
  }
  return to_pem(self, key.get());
}

Result<KeyPair> issue_certificate(const KeyPair& authority, const CertificateRequest& request) {
  const Certificate issuer = read_certificate(authority.certificate);
  const Key issuer_key = read_key(authority.key);
  if (!issuer || !issuer_key || X509_check_private_key(issuer.get(), issuer_key.get()) != 1) {
    ERR_clear_error();
    return Error{ErrorCode::corrupt,
                 "the authority's certificate and key cannot be read, or do not belong together"};
  }
  const Instant authority_end = instant_of(X509_get0_notAfter(issuer.get()));
  if (request.not_after > authority_end) {
    return Error{ErrorCode::exhausted, "the authority ends on " + to_text(authority_end) +
                                           ", before this certificate would: ask for fewer --days"};
  }
  const Key key(EVP_EC_gen("P-256"));
  if (!key) return openssl_error("making a key");
  const Certificate certificate =
      blank_certificate(request.name, key.get(), request.not_before, request.not_after);
  if (!certificate) return openssl_error("making a certificate");
  X509* leaf = certificate.get();
  X509_set_issuer_name(leaf, X509_get_subject_name(issuer.get()));
  // An agent's certificate cannot play the controller, because it is good for clients only; and the
  // other way round.
  const char* usage = request.role == PeerRole::controller ? "serverAuth" : "clientAuth";
  if (!add_extension(leaf, issuer.get(), NID_basic_constraints, "critical,CA:FALSE") ||
      !add_extension(leaf, issuer.get(), NID_key_usage, "critical,digitalSignature") ||
      !add_extension(leaf, issuer.get(), NID_ext_key_usage, usage) ||
      !add_extension(leaf, issuer.get(), NID_subject_key_identifier, "hash") ||
      !add_extension(leaf, issuer.get(), NID_authority_key_identifier, "keyid:always") ||
      !add_extension(leaf, issuer.get(), NID_subject_alt_name, alternative_names(request)) ||
      X509_sign(leaf, issuer_key.get(), EVP_sha256()) == 0) {
    return openssl_error("signing '" + printable(request.name, 80) + "'");
  }
  return to_pem(leaf, key.get());
}

Result<CertificateInfo> describe_certificate(std::string_view pem) {
  const Certificate certificate = read_certificate(pem);
  if (!certificate) {
    ERR_clear_error();
    return Error{ErrorCode::corrupt, "not a certificate in PEM form"};
  }
  X509* read = certificate.get();
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int digest_bytes = 0;
  if (X509_digest(read, EVP_sha256(), digest.data(), &digest_bytes) != 1)
    return openssl_error("hashing a certificate");
  CertificateInfo info;
  info.subject = name_text(X509_get_subject_name(read));
  info.issuer = name_text(X509_get_issuer_name(read));
  info.name = common_name(read);
  info.serial = serial_text(read);
  info.sha256 = hexadecimal(std::span(digest).first(digest_bytes));
  info.names = names_of(read);
  info.usages = usages_of(read);
  info.authority = X509_check_ca(read) > 0;
  info.not_before = instant_of(X509_get0_notBefore(read));
  info.not_after = instant_of(X509_get0_notAfter(read));
  ERR_clear_error();
  return info;
}

Status check_key_pair(std::string_view certificate, std::string_view key) {
  const Certificate owner = read_certificate(certificate);
  const Key own = read_key(key);
  const bool fits = owner && own && X509_check_private_key(owner.get(), own.get()) == 1;
  ERR_clear_error();
  if (!owner) return Error{ErrorCode::corrupt, "not a certificate in PEM form"};
  if (!own)
    return Error{ErrorCode::corrupt, "is not a private key in PEM form without a passphrase"};
  if (!fits) return Error{ErrorCode::conflict, "is the key of another certificate"};
  return ok_status();
}

Status check_signature(std::string_view certificate, std::string_view authority,
                       std::optional<Instant> at) {
  const auto chain = read_certificates(certificate);
  const auto trusted = read_certificates(authority);
  if (chain.empty() || trusted.empty())
    return Error{ErrorCode::corrupt, "not a certificate in PEM form"};
  const Trust trust(X509_STORE_new());
  const Verification verification(X509_STORE_CTX_new());
  // Borrows its members: `chain` outlives it.
  const std::unique_ptr<STACK_OF(X509), void (*)(STACK_OF(X509)*)> between(
      sk_X509_new_null(), [](STACK_OF(X509) * stack) { sk_X509_free(stack); });
  if (!trust || !verification || !between) return openssl_error("checking a certificate");
  for (const auto& one : trusted) X509_STORE_add_cert(trust.get(), one.get());
  for (std::size_t i = 1; i < chain.size(); ++i) sk_X509_push(between.get(), chain[i].get());
  if (X509_STORE_CTX_init(verification.get(), trust.get(), chain.front().get(), between.get()) != 1)
    return openssl_error("checking a certificate");
  if (at) {
    X509_STORE_CTX_set_time(verification.get(), 0, seconds_of(*at));
  } else {
    X509_STORE_CTX_set_flags(verification.get(), X509_V_FLAG_NO_CHECK_TIME);
  }
  const bool vouched = X509_verify_cert(verification.get()) == 1;
  const int reason = X509_STORE_CTX_get_error(verification.get());
  ERR_clear_error();
  if (vouched) return ok_status();
  return Error{ErrorCode::conflict, X509_verify_cert_error_string(reason)};
}

Status check_role(std::string_view pem, PeerRole role) {
  const auto info = describe_certificate(pem);
  if (!info) return info.error();
  const std::string prefix = "URI:" + std::string(role_uri_prefix);
  std::vector<std::string> roles;
  for (const auto& name : info->names)
    if (name.starts_with(prefix)) roles.push_back(name.substr(prefix.size()));
  const std::string wanted(to_text(role));
  if (roles != std::vector{wanted}) {
    return Error{ErrorCode::conflict, "is for the role " +
                                          (roles.empty() ? "of nobody" : join(roles, " and ")) +
                                          ", not for " + wanted};
  }
  const bool serves = role == PeerRole::controller;
  const Certificate certificate = read_certificate(pem);
  const int purpose = serves ? X509_PURPOSE_SSL_SERVER : X509_PURPOSE_SSL_CLIENT;
  const bool usable = certificate && X509_check_purpose(certificate.get(), purpose, 0) == 1;
  ERR_clear_error();
  if (usable) return ok_status();
  return Error{ErrorCode::conflict,
               std::string("lacks the usage ") + (serves ? "serverAuth" : "clientAuth")};
}

}  // namespace faultline
