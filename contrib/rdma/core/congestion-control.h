/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Congestion controls and their presets by name: each law's header says of itself what it is
 * called, which presets it has, and how switches mark with each of them, since the two belong
 * together:
 *
 *   enum AimdPreset { kAimdPaper, kAimdMild };
 *   inline const RegisteredCongestionControl kAimd{
 *       "aimd", "additive increase, multiplicative decrease of the rate",
 *       {{kAimdPaper, "paper", "K 100/400 kB, Pmax 1", {Bytes(100000), Bytes(400000), 1}},
 *        {kAimdMild, "mild", "the usual marking", EcnHpcc19(Gbps(100))}}};
 *
 * The ns-3 class has an attribute Preset of these numbers and names, which --cc-preset sets:
 *
 *   .AddAttribute("Preset", "Constants", EnumValue(rdma::kAimdPaper),
 *                 MakeEnumMemberAccessor(&AimdCongestionOps::m_preset),
 *                 MakePresetChecker<rdma::AimdPreset>(rdma::kAimd))
 *
 * From there the ns-3 class takes the values of its attribute Preset and its GetEcn(), and
 * scenarios the names, the descriptions and the marking. A program knows the laws whose headers are
 * part of it.
 */
#ifndef RDMA_CORE_CONGESTION_CONTROL_H
#define RDMA_CORE_CONGESTION_CONTROL_H

#include "ecn-law.h"

#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rdma
{

struct CongestionPreset
{
    int value = 0; ///< an enumerator of the law
    std::string name;
    std::string description;
    EcnParameters marking; ///< of a port of 100 Gb/s
};

struct CongestionControl
{
    std::string name; ///< of --cc, and RdmaCongestionOps::GetName()
    std::string description;
    std::vector<CongestionPreset> presets; ///< the first is the default; there may be none
    bool needsMarks = false;               ///< it hears of congestion by ECN alone

    /// Null if there is none.
    const CongestionPreset* Find(const std::string& preset) const
    {
        for (const auto& one : presets)
        {
            if (one.name == preset)
            {
                return &one;
            }
        }
        return nullptr;
    }
};

namespace detail
{

inline std::map<std::string, CongestionControl>&
MutableCongestionControls()
{
    // Never destroyed: laws of several shared libraries leave it, in whatever order these end.
    static auto& all = *new std::map<std::string, CongestionControl>;
    return all;
}

} // namespace detail

/// All, by name.
inline const std::map<std::string, CongestionControl>&
CongestionControls()
{
    return detail::MutableCongestionControls();
}

/// Null if there is none.
inline const CongestionControl*
FindCongestionControl(const std::string& name)
{
    const auto it = CongestionControls().find(name);
    return it == CongestionControls().end() ? nullptr : &it->second;
}

/// How switches of a port of 100 Gb/s mark with a preset of a congestion control; one without
/// presets: as switches do if nobody says otherwise.
inline EcnParameters
MarkingOf(const std::string& control, const std::string& preset)
{
    const CongestionControl* known = FindCongestionControl(control);
    const CongestionPreset* chosen = known ? known->Find(preset) : nullptr;
    return chosen ? chosen->marking : EcnParameters();
}

/// Makes a law known while it lives.
struct RegisteredCongestionControl : CongestionControl
{
    RegisteredCongestionControl(std::string itsName,
                                std::string itsDescription,
                                std::vector<CongestionPreset> itsPresets,
                                bool itNeedsMarks = false)
        : CongestionControl{std::move(itsName),
                            std::move(itsDescription),
                            std::move(itsPresets),
                            itNeedsMarks}
    {
        if (!detail::MutableCongestionControls().emplace(name, *this).second)
        {
            throw std::logic_error("a second congestion control is called " + name);
        }
    }

    RegisteredCongestionControl(const RegisteredCongestionControl&) = delete;
    RegisteredCongestionControl& operator=(const RegisteredCongestionControl&) = delete;

    ~RegisteredCongestionControl()
    {
        detail::MutableCongestionControls().erase(name);
    }
};

} // namespace rdma

#endif // RDMA_CORE_CONGESTION_CONTROL_H
