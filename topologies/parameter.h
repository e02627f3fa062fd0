/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The parameters of a family of networks, declared in a table, and values for them. Options, JSON
 * keys, checks, messages and help come from the table; only the family knows a parameter by name.
 */
#ifndef TOPOLOGIES_PARAMETER_H
#define TOPOLOGIES_PARAMETER_H

#include "topologies/error.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace topo
{

enum class ParameterKind : uint8_t
{
    kCount,  ///< a whole number of something
    kFactor, ///< a number
    kFlag,
    kSizes, ///< "4x4x2", one number a dimension
    kText   ///< read by the family itself
};

/// uint64_t: kCount, double: kFactor, bool: kFlag, the list: kSizes, std::string: kText.
using ParameterValue = std::variant<uint64_t, double, bool, std::vector<uint32_t>, std::string>;

/// One line of a family's table. Made by CountParameter() and its like, and the setters.
struct Parameter
{
    std::string name; ///< the option --hosts-per-leaf, and the JSON key hosts_per_leaf
    ParameterKind kind = ParameterKind::kCount;
    std::string help;
    double min = 0; ///< least value of kCount and kFactor; of each entry of kSizes: 1 or 2
    double max = 0;
    /// The default value in the user's syntax; empty: the family chooses.
    std::string standard;
    /// How the family chooses: "what the servers need". "{servers}" stands for the source of their
    /// number, "the servers" or an option.
    std::string chosen;
    /// The value that it is given where not even a number of servers is known; empty: none.
    std::string usual;
    std::string example; ///< a valid value other than the standard one
    /// The configuration as run records the value that the network was made with.
    bool recorded = false;
    /// Every configuration as run has it, even if the family has no use for it.
    bool always = false;
    /// It acts only where messages share the links between switches.
    bool ofSharing = false;

    Parameter& Range(double low, double high);
    Parameter& Standard(std::string text);
    Parameter& Chosen(std::string how);
    Parameter& Usual(std::string text);
    Parameter& Example(std::string text);
    Parameter& Recorded();
    Parameter& Always();
    Parameter& OfSharing();
};

Parameter CountParameter(std::string name, std::string help); ///< 1 to 65535 if not said otherwise
Parameter FactorParameter(std::string name, std::string help);
Parameter FlagParameter(std::string name, std::string help);
Parameter SizesParameter(std::string name, std::string help);
Parameter TextParameter(std::string name, std::string help);

/// Names and pictures are not readable with more dimensions.
constexpr uint32_t kMostDimensions = 6;

/// The form that ParseSizes takes, for people: from 2 on, and from 1.
extern const char* const kSizesHelp;
extern const char* const kSizesFromOneHelp;

/// "4x4x2"; nothing if it is not 1 to 6 numbers from `least` to 65535 with an x between them.
std::optional<std::vector<uint32_t>> ParseSizes(const std::string& text, uint32_t least = 2);

/// "4x4x2"
std::string SizesText(const std::vector<uint32_t>& sizes);

/// A value as one types it: "8", "1.5", "1", "4x4x2".
std::string ValueText(const ParameterValue& value);

/// Reads a text as a value of this parameter. Nothing if it is none, with the allowed values in
/// *allowed. The range is not checked.
std::optional<ParameterValue> ParseParameter(const Parameter& parameter,
                                             const std::string& text,
                                             std::string* allowed);

/// Why a value is not valid for this parameter: "is not a number from 1 to 1000"; "" if it is.
std::string WhyNotValue(const Parameter& parameter, const ParameterValue& value);

/// Values by the parameters' names. Asking for one with the wrong kind is a mistake of the program
/// and throws std::invalid_argument.
class Parameters
{
  public:
    Parameters& SetCount(const std::string& name, uint64_t value);
    Parameters& SetFactor(const std::string& name, double value);
    Parameters& SetFlag(const std::string& name, bool value);
    Parameters& SetSizes(const std::string& name, std::vector<uint32_t> value);
    Parameters& SetText(const std::string& name, std::string value);
    Parameters& Set(const std::string& name, ParameterValue value);

    bool Has(const std::string& name) const;
    uint64_t Count(const std::string& name) const;              ///< 0 if it has no value
    double Factor(const std::string& name) const;               ///< throws if it has no value
    bool Flag(const std::string& name) const;                   ///< throws if it has no value
    std::vector<uint32_t> Sizes(const std::string& name) const; ///< empty if it has no value
    std::string Text(const std::string& name) const;            ///< empty if it has no value

    /// By name, in the order of names.
    const std::map<std::string, ParameterValue>& All() const;

  private:
    template <class T>
    const T* Find(const std::string& name) const;

    std::map<std::string, ParameterValue> m_values;
};

} // namespace topo

#endif // TOPOLOGIES_PARAMETER_H
