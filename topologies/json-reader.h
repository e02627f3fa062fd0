/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Reading JSON that people write by hand: servers, graphs, models, GPUs, profiles. Every mistake
 * becomes an Error with its JSON path, nothing is ignored and nothing throws. (Options in JSON are
 * read by their table: scenarios/options/options-json.cc.)
 */
#ifndef TOPOLOGIES_JSON_READER_H
#define TOPOLOGIES_JSON_READER_H

#include "contrib/rdma/core/units.h"
#include "topologies/error.h"
#include "topologies/limits.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace topo
{

/// A document; an error, and nothing, if the text is no JSON: ParseJsonText.
std::optional<nlohmann::json> ReadJson(const std::string& text,
                                       const std::string& file,
                                       std::vector<Error>& errors);

/// A key that users choose, as a part of a path: as JSON pointers write it, short and printable.
std::string PathPart(const std::string& key);

/// Whether a member may be left out.
enum class Need
{
    kOptional,
    kRequired, ///< an error if it is missing
};

/**
 * One JSON object, and where it stands. Its readers leave `value` as it is, and return false, if
 * the member is wrong or missing.
 *
 * The allowed keys are given beforehand, to Only, or are the ones asked for by the time of Finish.
 * If the value is no object, all members are missing, and one of these two reports it.
 */
class JsonObject
{
  public:
    /// \param path "" is the root, "/links/3" an element \param file of the errors
    JsonObject(const nlohmann::json& json,
               std::string path,
               std::string file,
               std::vector<Error>& errors);

    /// A member, or an element in it. \param below "defaults", "layers/3"
    JsonObject Inner(const nlohmann::json& json, const std::string& below) const;

    /// \return whether it is an object with no keys but these; else there are errors
    bool Only(const std::vector<std::string>& keys);
    /// Only with the keys that were asked for: a misspelt one must not be ignored.
    bool Finish();

    bool IsObject() const
    {
        return m_json.is_object();
    }

    bool Has(const char* key);
    /// The member. \pre Has(key)
    const nlohmann::json& At(const char* key) const;
    /// The member, or null.
    const nlohmann::json* Find(const char* key, Need need = Need::kOptional);
    /// The member that must be a list, or null.
    const nlohmann::json* List(const char* key, Need need = Need::kOptional);

    bool Text(const char* key, std::string& value, Need need = Need::kOptional);
    /// A name (contrib/rdma/core/name-rule.h) that is not empty.
    bool Name(const char* key, std::string& value, Need need = Need::kRequired);
    bool Flag(const char* key, bool& value);
    /// A time not above `longest`. \param longestText the limit in the user's syntax
    bool Time(const char* key,
              rdma::Duration& value,
              rdma::Duration longest,
              const char* longestText,
              Need need = Need::kOptional);
    /// From `slowest` to kFastestLink.
    bool Rate(const char* key,
              rdma::BitRate& value,
              rdma::BitRate slowest = kSlowestLink,
              Need need = Need::kOptional);
    /// From `least` to `most`.
    bool Real(const char* key,
              double& value,
              double least,
              double most,
              Need need = Need::kOptional);
    /// Above `least`, at most `most`.
    bool RealAbove(const char* key, double& value, double least, double most);

    /// A whole number from `least` to `most`; 1e9 is one, too.
    template <class T>
    bool Whole(const char* key,
               T& value,
               uint64_t least,
               uint64_t most,
               Need need = Need::kOptional)
    {
        uint64_t number = 0;
        if (!ReadWhole(key, number, least, most, need))
        {
            return false;
        }
        value = static_cast<T>(number);
        return true;
    }

    /// An error of a member: "/gpus: 0 is not ...". \param message what comes behind the value
    void Fail(const char* key, const std::string& message);
    /// One without a value. \param below "" is this object, "ops/3" a part of a member
    void Say(const std::string& below, const std::string& message);
    /// An error: a member that had to be there. \param hint behind "is missing"
    void Missing(const char* key, const std::string& hint = "");

    /// The number of errors, of this object and others.
    size_t Errors() const;
    /// Enough errors for one sitting: stop looking for more.
    bool TooMany() const;

    std::string Path(const std::string& below) const;

    const std::string& File() const
    {
        return m_file;
    }

  private:
    /// \param parse (member, text of the allowed values, to be set) -> std::optional<T>, nothing if
    /// the member is wrong
    template <class T, class Parser>
    bool Parsed(const char* key, Need need, T& value, Parser parse);
    bool ReadWhole(const char* key, uint64_t& value, uint64_t least, uint64_t most, Need need);
    void Add(const std::string& below, std::string value, const std::string& message);

    const nlohmann::json& m_json;
    std::string m_path;
    std::string m_file;
    std::vector<Error>& m_errors;
    std::vector<std::string> m_asked;
};

} // namespace topo

#endif // TOPOLOGIES_JSON_READER_H
