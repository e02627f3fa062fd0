/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Measurements of --tuner=measured, kept in a file for each network:
 *
 *     {"format": "dltrain measured collectives", "format_version": 1,
 *      "network": {"program_version": "0.1.0", "measurement_version": 2, "seed": 1,
 *                  "topology": "9f86d081884c7d65", "hosts": [0, 1, ...], "machine": {...},
 *                  "options": {"network": {...}, "fabric": {...}, ...}, "files": {...}},
 *      "measured": [{"op": "all_reduce", "root": 0, "from_bytes": 1048576, "ranks": 16,
 *                    "groups": 1, "groups_digest": "...",
 *                    "tried": [{"algorithm": "ring", "protocol": "ll128", "channels": 0,
 *                               "formula_us": 93.1, "time_ps": 120000000}, ...],
 *                    "digest": "..."}, ...]}
 *
 * `network` is everything that a measurement depends on. The file's name is a digest of it. So
 * there is another file for other rates, another congestion control, placement or seed, other
 * constants of a server, or a later version of this program. Its options are those of the
 * configuration as run, except those that only choose the work (algorithms, sizes). `groups_digest`
 * covers the ranks of all groups. `digest` covers the whole measurement, so that times of an edited
 * or damaged file are refused. `tried` must list the choices that the run would try, else they are
 * measured anew.
 *
 * A file is written under another name and then renamed, so that a process that is killed leaves
 * the old file or the new one. If two processes measure at once, the later one wins; times are the
 * same.
 */
#ifndef SCENARIOS_COLLECTIVE_MEASURED_CACHE_H
#define SCENARIOS_COLLECTIVE_MEASURED_CACHE_H

#include "scenarios/collective/measured-choices.h"
#include "scenarios/job/scenario.h"

#include <nlohmann/json.hpp>
#include <string>

namespace scenario
{

/// The version of the measurements: to be raised when a change to the simulation changes their
/// times.
constexpr uint32_t kMeasurementVersion = 2; // 2: with a digest

/// All that a measurement depends on.
nlohmann::json MeasurementKey(const RunOptions& run,
                              const ClusterSpec& cluster,
                              const coll::Machine& machine);

class MeasuredCache
{
  public:
    MeasuredCache(const std::string& folder, nlohmann::json key);

    const std::string& File() const
    {
        return m_file;
    }

    /// Sets times of earlier measurements. \return the problem with the file, or nothing. A missing
    /// file is no problem.
    std::string Read(MeasuredChoices* choices);

    /// Makes the folder. \return why it cannot be written, or nothing
    std::string Prepare() const;

    /// Keeps the known measurements, beside those that are in the file already. \return why it
    /// could not be written, or nothing
    std::string Write(const MeasuredChoices& choices);

  private:
    std::string m_folder;
    nlohmann::json m_key;
    std::string m_file;
    nlohmann::json m_measured = nlohmann::json::array(); ///< as it stood there
};

} // namespace scenario

#endif // SCENARIOS_COLLECTIVE_MEASURED_CACHE_H
