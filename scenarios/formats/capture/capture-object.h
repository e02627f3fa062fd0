/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * One JSON object of a capture (docs/capture-format.md), whose members are asked for one by one.
 */
#ifndef SCENARIOS_FORMATS_CAPTURE_CAPTURE_OBJECT_H
#define SCENARIOS_FORMATS_CAPTURE_CAPTURE_OBJECT_H

#include "topologies/error.h"

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace formats
{

/// Reads one object. The first mistake becomes an error; later ones are not reported. A member that
/// is not as it should be reads as a missing one.
class CaptureObject
{
  public:
    /// \param file and where: for errors; the place of the object in the file may be empty
    CaptureObject(const nlohmann::json& object,
                  std::string file,
                  std::string where,
                  std::vector<topo::Error>& errors);

    /// False, always.
    bool Fail(const std::string& problem);

    bool IsFine() const
    {
        return m_fine;
    }

    bool Has(const char* key) const
    {
        return m_object.contains(key);
    }

    const nlohmann::json& At(const char* key) const
    {
        return m_object.at(key);
    }

    /// Fails if one of these keys is missing.
    bool Needs(std::initializer_list<const char*> keys);

    /// A text that is one of these, or is not there.
    std::string OneOf(const char* key, const std::vector<std::string>& allowed);

    /// The member "dtype": a data type, as PyTorch's are called in a capture.
    std::string Dtype();

    uint64_t Whole(const char* key, uint64_t most, uint64_t otherwise);
    double Real(const char* key, double most, double otherwise);
    std::string Text(const char* key);
    bool Flag(const char* key);

    /// A list of whole numbers; empty if the key is missing.
    std::vector<uint64_t> Wholes(const char* key, uint64_t most);

  private:
    const nlohmann::json& m_object;
    const std::string m_file;
    const std::string m_where;
    std::vector<topo::Error>& m_errors;
    bool m_fine = true;
};

} // namespace formats

#endif // SCENARIOS_FORMATS_CAPTURE_CAPTURE_OBJECT_H
