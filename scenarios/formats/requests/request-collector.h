/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What readers of request files have in common: the lines that count, the order of arrivals,
 * errors.
 */
#ifndef SCENARIOS_FORMATS_REQUESTS_REQUEST_COLLECTOR_H
#define SCENARIOS_FORMATS_REQUESTS_REQUEST_COLLECTOR_H

#include "scenarios/formats/date-time.h"
#include "scenarios/formats/requests/request-trace.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace formats
{

/// The requests of a file so far, with its errors.
class Collector
{
  public:
    Collector(std::string file, RequestFilter filter, std::vector<topo::Error>& errors);

    const std::string& GetFile() const
    {
        return m_file;
    }

    const RequestFilter& Filter() const
    {
        return m_filter;
    }

    /// \param place "7", a line; or a JSON path
    void Fail(const std::string& place, const std::string& problem);

    bool Fine() const
    {
        return m_errors.size() == m_before;
    }

    bool TooMany() const;

    /// Columns of the filter that do not exist. \param place of their names
    void CheckFilter(const std::vector<std::string>& names, const std::string& place);

    /// Whether a request with this value in this column is meant.
    bool Takes(const std::string& column, const std::string& value);

    /// A column of which a file may have several runs.
    void SeeRun(const std::string& column, const std::string& value)
    {
        m_runs[column].insert(value);
    }

    /// Whether the filter names a column.
    bool IsChosen(const std::string& column) const;

    /// \param arrival nothing: it has none
    void Add(std::optional<WidePs> arrival, uint32_t prompt, uint32_t output);

    RequestTrace& Trace()
    {
        return m_trace;
    }

    /// Nothing after an error.
    std::optional<RequestTrace> Take(bool hasArrivals);

  private:
    std::string ThatMatch() const;
    void CheckRuns();
    void SetArrivals();

    std::string m_file;
    RequestFilter m_filter;
    std::vector<topo::Error>& m_errors;
    std::size_t m_before;
    std::map<std::string, std::set<std::string>> m_seen; ///< values of filtered columns
    std::map<std::string, std::set<std::string>> m_runs;
    std::vector<WidePs> m_arrivals;
    RequestTrace m_trace;
};

} // namespace formats

#endif // SCENARIOS_FORMATS_REQUESTS_REQUEST_COLLECTOR_H
