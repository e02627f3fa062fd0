/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The raw record of a process: a JSON object a line, in the order in which things were issued. What
 * becomes of it: ../record/.
 */
#ifndef CAPTURE_RECORD_H
#define CAPTURE_RECORD_H

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/operator_name.h>
#include <c10/util/ArrayRef.h>
#include <cstdint>
#include <string>
#include <vector>

namespace capture
{

/// One line that is being written. Keys are plain words.
class Line
{
  public:
    explicit Line(const char* type);

    Line& Add(const char* key, const std::string& text);
    Line& Add(const char* key, int64_t value);
    Line& Add(const char* key, const std::vector<int64_t>& values);
    Line& Add(const char* key, const std::vector<at::Tensor>& tensors);
    Line& Add(const char* key, c10::ArrayRef<c10::IValue> values);
    /// Where it comes from: device, stream, thread, source line, module, pass.
    Line& AddPlace();
    /// Into the record, if there is one.
    void Write();

  private:
    void Key(const char* key);
    std::string m_text;
};

/// Starts a record of this process, in place of the one before. "": none.
void OpenRecord(const std::string& path);
void FlushRecord();
/// From now on operators are recorded with the CPU time of their thread since the one before.
void MeasureProgram();

/// While it lives, this thread works for the device, not for the program.
class OwnWork
{
  public:
    OwnWork();
    ~OwnWork();
    OwnWork(const OwnWork&) = delete;
    OwnWork& operator=(const OwnWork&) = delete;

  private:
    bool m_outermost;
};

/// Around a fork: the record's lock is free in the child, which has no record until it opens one.
void LockRecord();
void UnlockRecord();
void ForgetRecord();
bool Recording();

/// While it lives, this thread's operators are part of another one, and not recorded.
class PartOfAnother
{
  public:
    PartOfAnother();
    ~PartOfAnother();
};

/// Arguments of an operator that it writes, by their numbers.
struct Written
{
    std::vector<int64_t> arguments;
    std::vector<int64_t> places; ///< of these for a result alone (out=, grad_input): it reads none
};

/// An operator, with all its arguments and results. `how`: who found its results.
void RecordOperator(const c10::OperatorName& name,
                    c10::ArrayRef<c10::IValue> arguments,
                    const Written& written,
                    c10::ArrayRef<c10::IValue> results,
                    const char* how);

/// "train.py:31": the innermost line of this thread that is of no library; "": none.
std::string SourceLine();
/// The same in words, where none is known too.
std::string ToldLine();
/// A file as lines are told of it: "models/gpt.py"; "": it is of a library.
std::string ToldFile(const std::string& file);
/// What is said once for each text: it stands in the record, and on standard error.
void Note(const std::string& text);
/// That a value or a shape depends on choices (a largest entry, an order) that were assumed.
void NoteAssumed(const char* what);

/// Which of a script's optimizers steps next in this thread.
void SetOptimizer(int64_t number);
/// What Python tells: the path of the module that is being run, "" outside of all.
void EnterModule(const std::string& path);
void LeaveModule();
/// Where .backward() was called: for what the threads of autograd issue.
void SetBackwardLine(const std::string& line);
/// Lines below this folder are told relative to it.
void SetScriptFolder(const std::string& folder);
/// Learns from autograd and from record_function which pass a thread is in.
void WatchPasses();

uint64_t OperatorsSeen();

} // namespace capture

#endif // CAPTURE_RECORD_H
