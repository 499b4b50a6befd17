
#include <memory>
#include <vector>

#include "platform/windows/system.h"

namespace tern::platform {
namespace {

constexpr ACCESS_MASK kWriteAccess = FILE_WRITE_DATA | FILE_APPEND_DATA | FILE_WRITE_ATTRIBUTES | FILE_WRITE_EA |
                                     FILE_DELETE_CHILD | DELETE | WRITE_DAC | WRITE_OWNER | GENERIC_WRITE | GENERIC_ALL;

/// SID of this process's user; empty after a failure.
const std::vector<std::byte>& own_user() {
  static const std::vector<std::byte> user = [] {
    HANDLE token = nullptr;
    std::vector<std::byte> bytes;
    if (::OpenProcessToken(::GetCurrentProcess(), TOKEN_QUERY, &token) == 0) return bytes;
    DWORD size = 0;
    ::GetTokenInformation(token, TokenUser, nullptr, 0, &size);
    bytes.resize(size);
    if (::GetTokenInformation(token, TokenUser, bytes.data(), size, &size) == 0) bytes.clear();
    ::CloseHandle(token);
    return bytes;
  }();
  return user;
}

/// The user, the system and administrators, who can change every file anyway.
bool is_trusted(PSID sid) {
  const auto& user = own_user();
  if (user.empty() || sid == nullptr) return false;
  return ::EqualSid(sid, reinterpret_cast<const TOKEN_USER*>(user.data())->User.Sid) != 0 ||
         ::IsWellKnownSid(sid, WinLocalSystemSid) != 0 || ::IsWellKnownSid(sid, WinBuiltinAdministratorsSid) != 0 ||
         ::IsWellKnownSid(sid, WinCreatorOwnerSid) != 0;
}

bool others_can_change(PACL list) {
  if (list == nullptr) return true;  // no list: everybody has all rights
  for (DWORD i = 0; i < list->AceCount; ++i) {
    void* entry = nullptr;
    if (::GetAce(list, i, &entry) == 0) return true;
    const auto* head = static_cast<const ACE_HEADER*>(entry);
    if (head->AceType != ACCESS_ALLOWED_ACE_TYPE || (head->AceFlags & INHERIT_ONLY_ACE) != 0) continue;
    auto* allowed = static_cast<ACCESS_ALLOWED_ACE*>(entry);
    if ((allowed->Mask & kWriteAccess) != 0 && !is_trusted(&allowed->SidStart)) return true;
  }
  return false;
}

}  // namespace

std::string sharing_of(HANDLE file) {
  PSID owner = nullptr;
  PACL list = nullptr;
  PSECURITY_DESCRIPTOR descriptor = nullptr;
  if (::GetSecurityInfo(file, SE_FILE_OBJECT, OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION, &owner, nullptr,
                        &list, nullptr, &descriptor) != ERROR_SUCCESS)
    return "its permissions cannot be read";
  const std::unique_ptr<void, decltype(&::LocalFree)> owned(descriptor, &::LocalFree);
  if (!is_trusted(owner)) return "it belongs to another user";
  return others_can_change(list) ? "others than its owner can write to it" : std::string();
}

}  // namespace tern::platform
