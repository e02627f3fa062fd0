/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Reading JSON that people write by hand: every mistake becomes an Error with its JSON path,
 * nothing is ignored and nothing throws.
 */
#ifndef TOPOLOGIES_JSON_READER_H
#define TOPOLOGIES_JSON_READER_H

#include "contrib/rdma/core/units.h"
#include "topologies/error.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace topo
{

class JsonReader
{
  public:
    /// Path of an element: "" is the root, "/links/3/rate" a member.
    using Path = std::string;

    JsonReader(std::string file, std::vector<Error>& errors);

    /// The document; nothing if the text is no JSON or an object has a key twice. Errors then name
    /// line and column.
    std::optional<nlohmann::json> Parse(const std::string& text);

    /// Records an error at `path`. The value is shown if given.
    void Fail(const Path& path, const nlohmann::json* value, const std::string& message);
    /// Enough errors for one sitting: stop looking for more.
    bool TooMany() const;

    /// Whether `value` is an object with no keys but these.
    bool IsObject(const nlohmann::json& value,
                  const Path& path,
                  const std::vector<std::string>& keys);
    /// The member, or null if it is not there (an error if `required`).
    const nlohmann::json* Member(const nlohmann::json& object,
                                 const Path& path,
                                 const char* key,
                                 bool required);

    // Typed members. `value` stays as it is, and false is returned, if the member is wrong or
    // (without an error, unless required) missing.
    bool Read(const nlohmann::json& object,
              const Path& path,
              const char* key,
              bool required,
              std::string& value);
    bool Read(const nlohmann::json& object,
              const Path& path,
              const char* key,
              bool required,
              rdma::BitRate slowest, ///< allowed, up to kFastestLink
              rdma::BitRate& value);
    bool Read(const nlohmann::json& object,
              const Path& path,
              const char* key,
              bool required,
              rdma::Duration& value);
    bool Read(const nlohmann::json& object,
              const Path& path,
              const char* key,
              bool required,
              uint64_t least,
              uint64_t most,
              uint64_t& value);
    /// A number above `above`, at most `most`.
    bool Read(const nlohmann::json& object,
              const Path& path,
              const char* key,
              bool required,
              double above,
              double most,
              double& value);

  private:
    /// \param parse (member, what is allowed, to be set) -> std::optional<T>, nothing if it is
    /// wrong
    template <class T, class Parser>
    bool ReadParsed(const nlohmann::json& object,
                    const Path& path,
                    const char* key,
                    bool required,
                    T& value,
                    Parser parse);

    std::string m_file;
    std::vector<Error>& m_errors;
};

} // namespace topo

#endif // TOPOLOGIES_JSON_READER_H
